// A page of Express that says where it believes to be.
const express = require("express");

const app = express();
app.set("trust proxy", "loopback");
app.get("/where", (request, response) => {
  const link = `${request.protocol}://${request.host}${request.originalUrl}`;
  response.send(`${request.protocol} ${request.host} ${request.ip} ${link}`);
});
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
