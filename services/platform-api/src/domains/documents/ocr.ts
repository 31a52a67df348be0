import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AppError, createCircuitBreaker, type Logger } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';
import type { Worker } from 'tesseract.js';
import type { Config } from '../../assembly/config.ts';
import { SerialQueue } from './serial-queue.ts';

/** Text that was read from a picture. */
export interface OcrText {
  readonly text: string;
  /** 0 to 1 */
  readonly confidence: number;
}

/** Reads text from pictures. */
export interface OcrEngine {
  readonly name: 'tesseract' | 'http' | 'none';
  /** 503 `provider_not_configured` without an engine, 502 where it failed. What waits is left out once the signal is aborted. */
  read(picture: Buffer, mimeType: string, signal: AbortSignal): Promise<OcrText>;
  stop(): Promise<void>;
}

/** The engine that the settings name. */
export function createOcrEngine(
  config: Pick<Config, 'OCR_ENGINE' | 'OCR_HTTP_URL' | 'OCR_TIMEOUT_MS'>,
  log: Logger,
): OcrEngine {
  if (config.OCR_ENGINE === 'tesseract') return new Tesseract(config.OCR_TIMEOUT_MS, log);
  if (config.OCR_ENGINE === 'http' && config.OCR_HTTP_URL !== undefined)
    return new HttpOcr(config.OCR_HTTP_URL, config.OCR_TIMEOUT_MS);
  return noEngine;
}

const noEngine: OcrEngine = {
  name: 'none',
  read: () =>
    Promise.reject(new AppError('provider_not_configured', 'No engine that reads text from pictures is configured.')),
  stop: () => Promise.resolve(),
};

/** Pictures that may wait for the one worker. */
const maxWaiting = 8;

/** tesseract.js in one worker of this process, which reads one picture after the other and is started by the first: it takes some 250 MB. */
class Tesseract implements OcrEngine {
  readonly name = 'tesseract';
  readonly #timeoutMs: number;
  readonly #log: Logger;
  readonly #queue = new SerialQueue(maxWaiting);
  #worker: Promise<Worker> | undefined;

  constructor(timeoutMs: number, log: Logger) {
    this.#timeoutMs = timeoutMs;
    this.#log = log;
  }

  read(picture: Buffer, _mimeType: string, signal: AbortSignal): Promise<OcrText> {
    return this.#queue.run(() => this.#recognise(picture), signal);
  }

  async stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await (await worker?.catch(() => undefined))?.terminate();
  }

  async #recognise(picture: Buffer): Promise<OcrText> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('took too long')), this.#timeoutMs);
    });
    try {
      this.#worker ??= startWorker();
      const recognition = this.#worker.then((worker) => worker.recognize(picture));
      const { data } = await Promise.race([recognition, timeout]);
      return { text: data.text, confidence: data.confidence / 100 };
    } catch (cause) {
      // A worker that choked on a picture is not trusted with the next one.
      this.#log.warn({ reason: String(cause) }, 'a picture could not be read');
      await this.stop();
      throw new AppError('unreadable_document', 'The picture could not be read.', { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Its data comes from a package: nothing is fetched. */
async function startWorker(): Promise<Worker> {
  const { createWorker } = await import('tesseract.js');
  const data = createRequire(import.meta.url).resolve('@tesseract.js-data/eng/package.json');
  const langPath = join(dirname(data), '4.0.0');
  // Without a handler of its own, an error in the worker ends the process.
  return createWorker('eng', undefined, { langPath, gzip: true, cacheMethod: 'none', errorHandler: () => undefined });
}

/** A service of the operator's own: the picture is posted, text comes back. */
class HttpOcr implements OcrEngine {
  readonly name = 'http';
  readonly #breaker: CircuitBreaker<[Buffer, string], OcrText>;

  constructor(url: string, timeoutMs: number) {
    const read = (picture: Buffer, mimeType: string): Promise<OcrText> => post(url, picture, mimeType, timeoutMs);
    this.#breaker = createCircuitBreaker(read, { volumeThreshold: 5, resetTimeoutMs: 15_000 });
  }

  async read(picture: Buffer, mimeType: string): Promise<OcrText> {
    try {
      return await this.#breaker.fire(picture, mimeType);
    } catch (cause) {
      throw new AppError('upstream_error', 'The service that reads text from pictures failed.', { cause });
    }
  }

  async stop(): Promise<void> {
    this.#breaker.shutdown();
  }
}

async function post(url: string, picture: Buffer, mimeType: string, timeoutMs: number): Promise<OcrText> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': mimeType },
    body: new Uint8Array(picture),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`it answered ${response.status}`);
  }
  const { text, confidence } = (await response.json()) as { text?: unknown; confidence?: unknown };
  if (typeof text !== 'string') throw new Error('it answered without a text');
  return { text, confidence: typeof confidence === 'number' ? Math.min(1, Math.max(0, confidence)) : 0.8 };
}
