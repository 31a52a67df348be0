// A pool of running products for end-to-end test files: starting the seven processes of a product takes longer than
// many of the files.
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
    return false; // A killed process has not been restarted yet.
  }
}

/** Returns whether a product becomes healthy: the test file that used it may have killed processes. */
async function becomesHealthy(product) {
  const deadline = performance.now() + healthTimeoutMs;
  while (!(await isHealthy(product))) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return true;
}

/**
 * Serves `POST /acquire` with `{ settings, isShared }`, which returns `{ id, dataDir, file }`: the product, and a
 * number that is unique to the file. A shared product is used by many files concurrently. Any other is used by a single
 * file until `POST /release` with `{ id }`, and then by the next file with the same settings.
 */
export class ProductPool {
  #server;
  #folder;
  /** Rows of { id, key, isShared, isInUse, dataDir, product }. */
  #products = [];
  #ids = 0;
  #files = 0;
  /**
   * Allows one change at a time: two concurrent starts would find the same ports free.
   * @type {Promise<unknown>}
   */
  #last = Promise.resolve();

  constructor(server, folder) {
    this.#server = server;
    this.#folder = folder;
  }

  /** @param {string} folder parent of the data folders of the products */
  static async open(folder) {
    const server = createServer();
    // A keep-alive connection might be closed just as a file sends its next request.
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
      server.listen(0, '127.0.0.1', () => resolve(undefined));
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

  /**
   * @template Result
   * @param {() => Promise<Result>} work
   */
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

  /** Stops an unused product when the pool is full, because its processes use memory. */
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
