// Run with `node --test`.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { makeHandler } from './pages.mjs';
import { makeShop } from './shop.mjs';

const server = http.createServer(makeHandler(makeShop()));
let base;
before(() => new Promise((done) => {
  server.listen(0, '127.0.0.1', () => {
    base = `http://127.0.0.1:${server.address().port}`;
    done();
  });
}));
after(() => server.close());

const post = (path, body) => fetch(base + path, { method: 'POST', body: new URLSearchParams(body) });

test('every page that links lead to is there', async () => {
  for (const path of ['/', '/categories', '/categories/3', '/items/7', '/items/7/order', '/search?q=oak']) {
    const response = await fetch(base + path);
    assert.equal(response.status, 200, path);
    assert.match(await response.text(), /<h1>/);
  }
});

test('what a customer types is escaped', async () => {
  const text = await (await fetch(`${base}/search?q=${encodeURIComponent('"><script>')}`)).text();
  assert.ok(text.includes('&quot;&gt;&lt;script&gt;') && !text.includes('<script>'));
});

test('an order needs the token of its item', async () => {
  const form = await (await fetch(`${base}/items/7/order`)).text();
  const auth = form.match(/name="auth" value="([^"]+)"/)[1];
  assert.equal((await post('/items/7/orders', { auth, quantity: '2' })).status, 200);
  assert.equal((await post('/items/8/orders', { auth, quantity: '2' })).status, 403);
  assert.equal((await post('/items/7/orders', { quantity: '2' })).status, 403);
  assert.equal((await post('/items/7/orders', { auth, quantity: '1e99' })).status, 422);
});

test('hostile requests are refused', async () => {
  assert.equal((await fetch(`${base}/items/0`)).status, 404);
  assert.equal((await fetch(`${base}/items/__proto__`)).status, 404);
  assert.equal((await fetch(`${base}/categories/99`)).status, 404);
  assert.equal((await fetch(base, { method: 'DELETE' })).status, 405);
  assert.equal((await post('/items/7/orders', { auth: 'x'.repeat(9000) })).status, 413);
});
