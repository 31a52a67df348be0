import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';

/** Size and checksum of a file as stored. */
export interface StoredFile {
  readonly bytes: number;
  readonly sha256: string;
}

const hasGzip = (path: string): boolean => path.endsWith('.gz');
/** Fast: the time of a backup is that of its compression. */
const gzipLevel = 1;
const ioBytes = 256 * 1024;

/** Passes chunks on, and counts and hashes them. */
class Checksum {
  readonly #hash: Hash = createHash('sha256');
  #bytes = 0;

  async *pass(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      yield chunk;
    }
  }

  finish(): StoredFile {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}

/** Joins small chunks: a stream costs more for each chunk than for its bytes. */
async function* joinChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pending: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    pending.push(chunk);
    size += chunk.length;
    if (size < ioBytes) continue;
    yield Buffer.concat(pending);
    pending = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(pending);
}

/** Writes a new file that only its owner reads, compressed if its name ends in `.gz`. Returns its checksum. */
export async function writeArchive(path: string, source: AsyncIterable<Uint8Array>): Promise<StoredFile> {
  const checksum = new Checksum();
  const target = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  const pass = (chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> => checksum.pass(chunks);
  const joined = Readable.from(joinChunks(source), { objectMode: false });
  if (hasGzip(path)) await pipeline(joined, createGzip({ level: gzipLevel }), pass, target);
  else await pipeline(joined, pass, target);
  return checksum.finish();
}

/** Reads a file that `writeArchive` wrote. */
export function readArchive(path: string): AsyncIterable<Buffer> {
  const file = createReadStream(path, { highWaterMark: ioBytes });
  if (!hasGzip(path)) return file;
  const content = createGunzip();
  // A pipe forwards no errors.
  file.once('error', (error) => content.destroy(error));
  return file.pipe(content);
}

/** Returns the size and the checksum of a file. */
export async function computeChecksum(path: string): Promise<StoredFile> {
  const checksum = new Checksum();
  for await (const _chunk of checksum.pass(createReadStream(path, { highWaterMark: ioBytes })));
  return checksum.finish();
}
