// Uses the gate at the given https:// URL by `ws` and by socket.io. Prints `passed` at the end.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'

const require = createRequire(`${process.cwd()}/`)
const WebSocket = require('ws')
const { io } = require('socket.io-client')
const url = process.argv[2]
const tls = { rejectUnauthorized: false }

const socket = new WebSocket(`${url.replace('https', 'wss')}/ws`, tls)
await once(socket, 'open')
assert.match(socket.extensions, /permessage-deflate/)
for (const size of [0, 1, 125, 126, 65535, 65536, 1000000]) {
  for (const data of ['x'.repeat(size), Buffer.alloc(size, 7)]) {
    socket.send(data)
    const [back, binary] = await once(socket, 'message')
    assert.equal(binary, typeof data !== 'string')
    assert.ok(Buffer.from(data).equals(back))
  }
}
socket.ping('still there?')
const [pong] = await once(socket, 'pong')
assert.equal(pong.toString(), 'still there?')
socket.close(4001, 'bye')
const [code] = await once(socket, 'close')
assert.equal(code, 4001)

// By long polls first and then by a WebSocket, by each alone.
for (const transports of [['polling', 'websocket'], ['polling'], ['websocket']]) {
  const client = io(url, { ...tls, transports, reconnection: false, forceNew: true })
  const [address] = await new Promise((resolve, reject) => {
    client.on('address', (...all) => resolve(all))
    client.on('connect_error', reject)
  })
  assert.equal(address, '127.0.0.1')
  const last = transports.at(-1)
  if (client.io.engine.transport.name !== last) await new Promise((go) => client.io.engine.once('upgrade', go))
  assert.equal(client.io.engine.transport.name, last)
  assert.equal(await client.emitWithAck('add', 3, 4), 7)
  assert.equal(await client.emitWithAck('blob', Buffer.alloc(200000)), 200000)
  // Longer than the server's interval between pings.
  await new Promise((go) => setTimeout(go, 500))
  assert.ok(client.connected)
  client.disconnect()
}
console.log('passed')
