import type { IncomingFile } from '../media/media-files.ts';
import { type Range, Ranges } from './ranges.ts';

/** The storage operations that a file needs. */
interface AttachmentStorage {
  /** Opens a new incoming file. Returns null if too many files are open. */
  open(): Promise<IncomingFile | null>;
  /** Stores the file permanently. Afterwards the incoming file no longer exists, even if this throws. */
  store(incoming: IncomingFile, file: AttachmentFile): Promise<void>;
  /** Called when the incoming file has been stored or discarded. */
  onClosed(): void;
}

/** Result of a 0x1212, with which the terminal reports a file as complete. */
export type Completion = { kind: 'kept' } | { kind: 'known' } | { kind: 'incomplete'; missing: readonly Range[] };

/**
 * Represents one attachment of an alarm. It belongs to the alarm and not to a connection. Two connections may send it,
 * one after the other or, if the first is half open, concurrently. Their operations run one after another.
 */
export class AttachmentFile {
  readonly name: string;
  /** 0 image, 1 audio, 2 video, 3 text, 4 other; null until the terminal sends it. */
  type: number | null = null;
  /** Number of consecutive 0x1212 without any data since the one before. */
  stalledRounds = 0;
  readonly #storage: AttachmentStorage;
  readonly #ranges = new Ranges();
  #sizeBytes: number;
  #incoming: IncomingFile | null = null;
  #isStored: boolean;
  #hasProgress = false;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(name: string, sizeBytes: number, isStored: boolean, storage: AttachmentStorage) {
    this.name = name;
    this.#sizeBytes = sizeBytes;
    this.#isStored = isStored;
    this.#storage = storage;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get isStored(): boolean {
    return this.#isStored;
  }

  /** Sets the size that the terminal has sent, which may differ from the earlier one. */
  resize(sizeBytes: number): Promise<void> {
    return this.#runExclusive(async () => {
      if (this.#isStored || sizeBytes === this.#sizeBytes) return;
      this.#sizeBytes = sizeBytes;
      // A smaller size means a different file, so the received data is discarded.
      if (this.#ranges.end > sizeBytes) await this.#discardIncoming();
    });
  }

  /** Writes the data that lies within the file. Returns the number of bytes written. */
  write(offset: number, data: Buffer): Promise<number> {
    return this.#runExclusive(async () => {
      const length = Math.min(data.length, this.#sizeBytes - offset);
      if (this.#isStored || length <= 0) return 0;
      this.#incoming ??= await this.#storage.open();
      if (this.#incoming === null) return 0;
      await this.#incoming.write(data.subarray(0, length), offset);
      if (!this.#ranges.add(offset, length)) return 0;
      this.#hasProgress = true;
      return length;
    });
  }

  /** Stores the file if it is complete. Otherwise returns up to `maxRanges` missing ranges. */
  complete(maxRanges: number): Promise<Completion> {
    return this.#runExclusive(async () => {
      if (this.#isStored) return { kind: 'known' };
      const missing = this.#ranges.findMissing(this.#sizeBytes, maxRanges);
      if (missing.length > 0) {
        this.stalledRounds = this.#hasProgress ? 0 : this.stalledRounds + 1;
        this.#hasProgress = false;
        return { kind: 'incomplete', missing };
      }
      // An empty file has received no data. It still counts as a file of the alarm.
      this.#incoming ??= await this.#storage.open();
      if (this.#incoming === null) {
        this.stalledRounds += 1;
        return { kind: 'incomplete', missing };
      }
      await this.#store(this.#incoming);
      this.#isStored = true;
      return { kind: 'kept' };
    });
  }

  /** Marks the file as stored by another pod, or by an earlier process of this one. */
  markStored(): Promise<void> {
    return this.#runExclusive(async () => {
      this.#isStored = true;
      await this.#discardIncoming();
    });
  }

  /** Discards the received data, unless the file is stored. */
  discard(): Promise<void> {
    return this.#runExclusive(() => this.#discardIncoming());
  }

  async #store(incoming: IncomingFile): Promise<void> {
    try {
      await this.#storage.store(incoming, this);
    } finally {
      this.#incoming = null;
      this.#ranges.clear();
      this.#storage.onClosed();
    }
  }

  async #discardIncoming(): Promise<void> {
    const incoming = this.#incoming;
    if (incoming === null) return;
    this.#incoming = null;
    this.#ranges.clear();
    this.#storage.onClosed();
    await incoming.discard();
  }

  #runExclusive<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
