// A shop on Node's own http and https modules: a server for studies of overload. It has no
// dependencies. Every page is rendered for its request, and most compute something first.
//
//   node server.mjs --certificate FILE --key FILE [--tls-min V] [--tls-max V] [--timeout-ms N]
//
// It listens on free ports of 127.0.0.1, writes `clear: URL`, `secure: URL` and `ready`, and
// ends at SIGTERM and SIGINT. It needs Node 18.3 or newer.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { makeShop } from './shop.mjs';
import { makeHandler } from './pages.mjs';

const VERSIONS = ['TLSv1.2', 'TLSv1.3'];

function fail(message) {
  process.stderr.write(`node service: ${message}\n`);
  process.exit(2);
}

function settings() {
  const text = { type: 'string' };
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        certificate: text,
        key: text,
        'tls-min': { type: 'string', default: 'TLSv1.2' },
        'tls-max': { type: 'string', default: 'TLSv1.3' },
        'timeout-ms': { type: 'string', default: '10000' },
      },
    }));
  } catch (error) {
    fail(error.message);
  }
  for (const name of ['tls-min', 'tls-max']) {
    if (!VERSIONS.includes(values[name])) {
      fail(`--${name} ${values[name]}: must be ${VERSIONS.join(' or ')}`);
    }
  }
  const timeout = Number(values['timeout-ms']);
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > 3_600_000) {
    fail(`--timeout-ms ${values['timeout-ms']}: must be a whole number from 1 to 3600000; try 10000`);
  }
  return { ...values, timeout };
}

function read(flag, path) {
  if (path === undefined) fail(`--${flag} FILE is missing: the ${flag} in PEM`);
  try {
    return readFileSync(path);
  } catch (error) {
    return fail(`--${flag} ${path}: ${error.message}`);
  }
}

function listen(server, timeout) {
  // How long a connection may be silent before a request, first or later.
  server.headersTimeout = timeout;
  server.requestTimeout = timeout;
  server.keepAliveTimeout = timeout;
  server.on('tlsClientError', () => {});
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen({ host: '127.0.0.1', port: 0, backlog: 511 }, () => resolve(server.address().port));
  });
}

const given = settings();
const cert = read('certificate', given.certificate);
const key = read('key', given.key);
const handler = makeHandler(makeShop());
const clear = http.createServer(handler);
let secure;
try {
  const tls = { cert, key, minVersion: given['tls-min'], maxVersion: given['tls-max'] };
  secure = https.createServer({ ...tls, handshakeTimeout: given.timeout }, handler);
} catch (error) {
  fail(`the certificate and key cannot be used: ${error.message}`);
}
const ports = await Promise.all([listen(clear, given.timeout), listen(secure, given.timeout)]);
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
process.stdout.write(`clear: http://127.0.0.1:${ports[0]}\nsecure: https://127.0.0.1:${ports[1]}\nready\n`);
