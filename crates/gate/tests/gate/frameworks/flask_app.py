"""A page of Flask that says where it believes to be."""
from flask import Flask, request, url_for
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.serving import make_server

app = Flask(__name__)
app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1, x_host=1)


@app.get("/where")
def where():
    link = url_for("where", _external=True)
    return f"{request.scheme} {request.host} {request.remote_addr} {link}"


server = make_server("127.0.0.1", 0, app)
print(server.port, flush=True)
server.serve_forever()
