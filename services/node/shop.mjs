// What the shop sells, made from a seed: the same seed gives the same items.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const SEED = 1;
const ITEMS = 2000;
const CATEGORIES = 20;
const FEATURES = 48;
// Orders that are kept; older ones are forgotten.
const ORDERS = 1000;
const WORDS = (
  'amber antique arch autumn bench blue brass bronze carved cedar clear copper coral cotton ' +
  'crystal desk drawn early enamel fine folding garden gilt glass golden grand green harbour ' +
  'iron ivory lace lamp large leather linen long maple marble mirror north oak old painted pale ' +
  'paper pearl pewter pine plain plate print rare red river round royal silver small solid ' +
  'south steel stone table teak tin velvet walnut warm watch white wide winter wood yellow'
).split(' ');

// mulberry32: 32 bits of state are enough for made-up goods.
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function makeShop() {
  const random = generator(SEED);
  const below = (limit) => Math.floor(random() * limit);
  const words = (count) => Array.from({ length: count }, () => WORDS[below(WORDS.length)]);
  const items = Array.from({ length: ITEMS }, (_, index) => ({
    id: index + 1,
    category: below(CATEGORIES) + 1,
    name: words(3 + below(3)).join(' '),
    text: words(40 + below(80)).join(' '),
    cents: 100 * (1 + below(500)),
    features: Float64Array.from({ length: FEATURES }, () => random() - 0.5),
  }));
  for (const item of items) item.length = Math.hypot(...item.features);
  const secret = randomBytes(32);
  const orders = [];
  const sign = (item) => createHmac('sha256', secret).update(`item ${item}`).digest();

  return {
    categories: CATEGORIES,
    item: (id) => items[id - 1],
    inCategory: (category) => items.filter((item) => item.category === category),

    // The items most like this one: the cosine of their features, over all items.
    similar(item, count) {
      const scored = [];
      for (const other of items) {
        if (other === item) continue;
        let product = 0;
        for (let index = 0; index < FEATURES; index += 1) {
          product += item.features[index] * other.features[index];
        }
        scored.push([product / (item.length * other.length), other]);
      }
      scored.sort((left, right) => right[0] - left[0]);
      return scored.slice(0, count).map(([, other]) => other);
    },

    // Items by how many of the words they have; a word of the name counts four times.
    search(query, count) {
      const wanted = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);
      const scored = [];
      for (const item of items) {
        let score = 0;
        for (const word of wanted) {
          if (item.name.includes(word)) score += 4;
          if (item.text.includes(word)) score += 1;
        }
        if (score > 0) scored.push([score, item]);
      }
      scored.sort((left, right) => right[0] - left[0] || left[1].id - right[1].id);
      return scored.slice(0, count).map(([, item]) => item);
    },

    // The hidden field of an order's form.
    token: (id) => sign(id).toString('base64url'),
    accepts(id, token) {
      const sent = Buffer.from(token ?? '', 'base64url');
      return sent.length === 32 && timingSafeEqual(sent, sign(id));
    },
    order(item, quantity) {
      orders.push({ item: item.id, quantity, cents: item.cents * quantity });
      if (orders.length > ORDERS) orders.shift();
      return orders[orders.length - 1];
    },
  };
}
