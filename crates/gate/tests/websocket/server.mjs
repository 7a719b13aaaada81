// A server of WebSockets by `ws` at /ws, which sends back what it gets, and of socket.io. Prints its
// port, and then how each WebSocket of `ws` closed.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const require = createRequire(`${process.cwd()}/`)
const { WebSocketServer } = require('ws')
const { Server } = require('socket.io')

const http = createServer((_, response) => response.end('http'))
const io = new Server(http, { path: '/socket.io/', pingInterval: 200, pingTimeout: 5000 })
io.on('connection', (socket) => {
  socket.emit('address', socket.handshake.headers['x-forwarded-for'])
  socket.on('add', (a, b, done) => done(a + b))
  socket.on('blob', (blob, done) => done(blob.length))
})
const ws = new WebSocketServer({ noServer: true, perMessageDeflate: true })
ws.on('connection', (socket) => {
  socket.on('message', (data, binary) => socket.send(data, { binary }))
  socket.on('close', (code) => console.log(`closed ${code}`))
})
http.on('upgrade', (request, socket, head) => {
  if (request.url.startsWith('/ws')) {
    ws.handleUpgrade(request, socket, head, (one) => ws.emit('connection', one, request))
  }
})
http.listen(0, '127.0.0.1', () => console.log(http.address().port))
