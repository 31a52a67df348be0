// One running product for all end-to-end files that neither kill anything nor need settings of their own.
import { createServer } from 'node:http';
import { join } from 'node:path';

const { startProduct } = await import('../deploy/local/dist/product.js');

/** Reads a JSON request body. */
async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/**
 * Starts the product at the first request, so that a run of other files does not wait for it. Each request is a test file: it posts the settings that all of
 * them share, and receives `{ dataDir, file }`, the data folder of the product and a number that no other file of the run has.
 */
export class SharedProduct {
  #server;
  #folder;
  #starting;
  #settings;
  #files = 0;

  constructor(server, folder) {
    this.#server = server;
    this.#folder = folder;
  }

  /** @param {string} folder where the product keeps its data */
  static async offer(folder) {
    const server = createServer();
    const product = new SharedProduct(server, folder);
    server.on('request', (request, response) => {
      product.#answer(request).then(
        (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
        (error) => response.writeHead(500).end(error.message),
      );
    });
    await new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return product;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  async stop() {
    this.#server.closeAllConnections();
    this.#server.close();
    const product = await this.#starting?.catch(() => undefined);
    await product?.stop();
  }

  async #answer(request) {
    const settings = await readJson(request);
    const key = JSON.stringify(settings);
    this.#settings ??= key;
    if (key !== this.#settings) throw new Error('The shared product runs with other settings');
    this.#files += 1;
    const file = this.#files;
    const dataDir = join(this.#folder, 'shared-product');
    this.#starting ??= startProduct({ dataDir, env: settings });
    await this.#starting;
    return { dataDir, file };
  }
}
