// Running products for end-to-end files, so that not every file starts one: starting its seven processes costs more than many a file.
import { createServer } from 'node:http';
import { join } from 'node:path';

const { startProduct, viewProduct } = await import('../deploy/local/dist/product.js');

/** One for each worker, and the shared one. */
const maxProducts = 6;
const healthTimeoutMs = 30_000;
const pollMs = 50;

/** Reads a JSON request body. */
async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

async function isHealthy(product) {
  try {
    const { status } = await fetch(`${product.runtime.base_url}/api/v1/health`);
    return status === 200;
  } catch {
    return false; // a process that was killed is not back yet
  }
}

/** Returns whether a product becomes healthy: the file that used it may have killed processes. */
async function becomesHealthy(product) {
  const deadline = performance.now() + healthTimeoutMs;
  while (!(await isHealthy(product))) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return true;
}

/**
 * Serves `POST /acquire` with `{ settings, isShared }`, which returns `{ id, dataDir, file }`: the product, and a number that no other file has. A shared product
 * is used by many files at a time, another one by a single file until `POST /release` with `{ id }`; then the next file with the same settings gets it.
 */
export class ProductPool {
  #server;
  #folder;
  /** Rows of { id, key, isShared, isInUse, dataDir, product }. */
  #products = [];
  #ids = 0;
  #files = 0;
  /** One change at a time: two starts would find the same ports free. */
  #last = Promise.resolve();

  constructor(server, folder) {
    this.#server = server;
    this.#folder = folder;
  }

  /** @param {string} folder where the products keep their data */
  static async open(folder) {
    const server = createServer();
    // A connection that is kept may be closed just as a file sends its next request.
    const head = { 'content-type': 'application/json', connection: 'close' };
    const pool = new ProductPool(server, folder);
    server.on('request', (request, response) => {
      pool.#reply(request).then(
        (body) => response.writeHead(200, head).end(JSON.stringify(body)),
        (error) => response.writeHead(500, head).end(JSON.stringify(error.message)),
      );
    });
    await new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return pool;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  async stop() {
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#inTurn(() => Promise.all(this.#products.splice(0).map(({ product }) => product.stop())));
  }

  async #reply(request) {
    const body = await readJson(request);
    if (request.url === '/release') return this.#release(body.id);
    const { id, dataDir } = await this.#inTurn(() => this.#acquire(JSON.stringify(body.settings), body));
    this.#files += 1;
    return { id, dataDir, file: this.#files };
  }

  async #inTurn(work) {
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #acquire(key, { settings, isShared }) {
    const found = this.#products.find(
      (each) => each.key === key && each.isShared === isShared && (isShared || !each.isInUse),
    );
    if (found !== undefined) {
      found.isInUse = true;
      return found;
    }
    await this.#makeRoom();
    this.#ids += 1;
    const dataDir = join(this.#folder, `product-${this.#ids}`);
    const product = await startProduct({ dataDir, env: settings });
    const row = { id: this.#ids, key, isShared, isInUse: true, dataDir, product };
    this.#products.push(row);
    return row;
  }

  /** Stops a product that nobody uses where there are many: their processes cost memory. */
  async #makeRoom() {
    const idle = this.#products.find(({ isInUse }) => !isInUse);
    if (idle !== undefined && this.#products.length >= maxProducts) await this.#remove(idle);
  }

  async #release(id) {
    const row = this.#products.find((each) => each.id === id);
    if (row === undefined || row.isShared) return {};
    const isReusable = await becomesHealthy(viewProduct(row.dataDir));
    await this.#inTurn(async () => {
      if (!isReusable && this.#products.includes(row)) await this.#remove(row);
      row.isInUse = false;
    });
    return {};
  }

  async #remove(row) {
    this.#products = this.#products.filter((each) => each !== row);
    await row.product.stop();
  }
}
