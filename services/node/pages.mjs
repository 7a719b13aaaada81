// The pages of the shop.
const LARGEST_FORM = 4096;
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text) => String(text).replace(/[&<>"']/g, (character) => ENTITIES[character]);
const money = (cents) => (cents / 100).toFixed(2);

// Marks text that is HTML already.
class Html {
  constructor(text) {
    this.text = text;
  }
}

// A template: values are escaped unless they are HTML.
function html(strings, ...values) {
  let text = strings[0];
  values.forEach((value, index) => {
    for (const part of [value].flat()) text += part instanceof Html ? part.text : escape(part);
    text += strings[index + 1];
  });
  return new Html(text);
}

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function page(title, body) {
  return html`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
<body>
<nav><a href="/">Shop</a> <a href="/categories">Categories</a> <a href="/search">Search</a></nav>
<h1>${title}</h1>
${body}
</body></html>
`;
}

function list(items) {
  const rows = items.map(
    (item) => html`<tr><td><a href="/items/${item.id}">${item.name}</a></td>
<td>${money(item.cents)}</td><td>${item.text.slice(0, 80)}</td></tr>
`,
  );
  return html`<table><tr><th>Item</th><th>Price</th><th>About</th></tr>
${rows}</table>`;
}

const searchForm = (query) => html`<form method="get" action="/search">
<input type="text" name="q" value="${query}" maxlength="100"><button type="submit">Search</button></form>`;

function orderForm(shop, item) {
  return html`<form method="post" action="/items/${item.id}/orders">
<input type="hidden" name="auth" value="${shop.token(item.id)}">
<label>Quantity <input type="number" name="quantity" min="1" max="9" value="1"></label>
<button type="submit">Order</button></form>`;
}

function found(value, what) {
  if (value === undefined) throw new Refusal(404, `There is no such ${what}.`);
  return value;
}

function get(shop, path, query) {
  const [first, second, third] = path;
  if (first === '' && path.length === 1) {
    return page('Shop', html`${searchForm('')}${list(shop.search('silver walnut', 12))}`);
  }
  if (first === 'healthz' && path.length === 1) return page('ok', html``);
  if (first === 'search' && path.length === 1) {
    const words = (query.get('q') ?? '').slice(0, 100);
    return page('Search', html`${searchForm(words)}${list(words ? shop.search(words, 25) : [])}`);
  }
  if (first === 'categories' && path.length === 1) {
    const links = Array.from({ length: shop.categories }, (_, index) => {
      const size = shop.inCategory(index + 1).length;
      return html`<li><a href="/categories/${index + 1}">Category ${index + 1}</a> ${size}</li>`;
    });
    return page('Categories', html`<ul>${links}</ul>`);
  }
  if (first === 'categories' && path.length === 2) {
    const items = shop.inCategory(Number(second));
    found(items[0], 'category');
    return page(`Category ${second}`, list(items.slice(0, 40)));
  }
  if (first === 'items' && path.length === 2) {
    const item = found(shop.item(Number(second)), 'item');
    const alike = list(shop.similar(item, 8));
    const order = html`<p><a href="/items/${item.id}/order">Order for ${money(item.cents)}</a></p>`;
    return page(item.name, html`<p>${item.text}</p>${order}<h2>Similar</h2>${alike}`);
  }
  if (first === 'items' && path.length === 3 && third === 'order') {
    const item = found(shop.item(Number(second)), 'item');
    return page(`Order ${item.name}`, orderForm(shop, item));
  }
  throw new Refusal(404, 'There is no such page.');
}

function post(shop, path, form) {
  const [first, second, third] = path;
  if (first !== 'items' || path.length !== 3 || third !== 'orders') {
    throw new Refusal(404, 'There is no such page.');
  }
  const item = found(shop.item(Number(second)), 'item');
  if (!shop.accepts(item.id, form.get('auth'))) {
    throw new Refusal(403, 'This form is not one of this shop. Go back to the item.');
  }
  const quantity = Number(form.get('quantity'));
  if (!Number.isInteger(quantity) || quantity < 1 || quantity > 9) {
    throw new Refusal(422, 'Quantity: must be a whole number from 1 to 9.');
  }
  const order = shop.order(item, quantity);
  return page('Thank you', html`<p>${quantity} × ${item.name}: ${money(order.cents)}</p>
<p><a href="/categories">Look on</a></p>`);
}

async function readForm(request) {
  let text = '';
  // The connection stays open after an early end, so that the refusal can be sent.
  for await (const chunk of request.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.length > LARGEST_FORM) throw new Refusal(413, 'The form is longer than 4 KiB.');
  }
  return new URLSearchParams(text);
}

async function answer(shop, request) {
  const [path, query = ''] = request.url.split('?', 2);
  const parts = path.slice(1).split('/');
  if (request.method === 'GET' || request.method === 'HEAD') {
    return get(shop, parts, new URLSearchParams(query));
  }
  if (request.method === 'POST') return post(shop, parts, await readForm(request));
  throw new Refusal(405, 'Pages are read with GET and forms sent with POST.');
}

export function makeHandler(shop) {
  return async (request, response) => {
    let status = 200;
    let content;
    try {
      content = await answer(shop, request);
    } catch (error) {
      // The customer has left in the middle of a form.
      if (request.destroyed && !request.complete) return void response.destroy();
      if (!(error instanceof Refusal)) process.stderr.write(`${error.stack}\n`);
      status = error instanceof Refusal ? error.status : 500;
      const why = error instanceof Refusal ? error.message : 'The shop failed.';
      content = page('This did not work', html`<p>${why}</p>`);
    }
    const bytes = Buffer.from(content.text);
    // A form that was not read to its end cannot be followed by another request.
    const close = status === 413 ? { Connection: 'close' } : {};
    const length = { 'Content-Length': bytes.length };
    response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', ...length, ...close });
    response.end(request.method === 'HEAD' ? undefined : bytes);
  };
}
