import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AppError, createCircuitBreaker, type Logger } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';
import type { Worker } from 'tesseract.js';
import type { Config } from '../../assembly/config.ts';
import { SerialQueue } from './serial-queue.ts';

/** Text that was recognised in a picture. */
export interface OcrText {
  readonly text: string;
  /** 0 to 1 */
  readonly confidence: number;
}

/** An engine that recognises text in pictures. */
export interface OcrEngine {
  readonly name: 'tesseract' | 'http' | 'none';
  /**
   * Recognises the text of a picture. Throws 503 `provider_not_configured` without an engine and 502 if the engine
   * fails. Waiting pictures are skipped once the signal is aborted.
   */
  read(picture: Buffer, mimeType: string, signal: AbortSignal): Promise<OcrText>;
  stop(): Promise<void>;
}

/** Creates the engine that the settings select. */
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
  read: () => Promise.reject(new AppError('provider_not_configured', 'No OCR engine is configured.')),
  stop: () => Promise.resolve(),
};

/** Limit of pictures that run or wait for the worker. */
const maxWaiting = 8;

/**
 * Recognises text with tesseract.js in one worker of this process, one picture at a time. The first picture starts the
 * worker, which needs some 250 MB.
 */
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
      timer = setTimeout(() => reject(new Error('timed out')), this.#timeoutMs);
    });
    try {
      this.#worker ??= startWorker();
      const recognition = this.#worker.then((worker) => worker.recognize(picture));
      const { data } = await Promise.race([recognition, timeout]);
      return { text: data.text, confidence: data.confidence / 100 };
    } catch (cause) {
      // A worker that failed on a picture is not reused.
      this.#log.warn({ reason: String(cause) }, 'could not read a picture');
      await this.stop();
      throw new AppError('unreadable_document', 'The picture could not be read.', { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}

// The language data is part of a package, so nothing is downloaded.
async function startWorker(): Promise<Worker> {
  const { createWorker } = await import('tesseract.js');
  const data = createRequire(import.meta.url).resolve('@tesseract.js-data/eng/package.json');
  const langPath = join(dirname(data), '4.0.0');
  // Without an error handler, an error in the worker ends the process.
  return createWorker('eng', undefined, { langPath, gzip: true, cacheMethod: 'none', errorHandler: () => undefined });
}

/** Recognises text with a service of the operator: posts the picture and receives the text. */
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
      throw new AppError('upstream_error', 'The OCR service failed.', { cause });
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
    throw new Error(`the OCR service responded with status ${response.status}`);
  }
  const { text, confidence } = (await response.json()) as { text?: unknown; confidence?: unknown };
  if (typeof text !== 'string') throw new Error('the OCR service responded without a text');
  return { text, confidence: typeof confidence === 'number' ? Math.min(1, Math.max(0, confidence)) : 0.8 };
}
