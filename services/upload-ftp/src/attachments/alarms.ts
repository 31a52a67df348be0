import type { Logger } from '@fleet/service-kit';
import type { IncomingFile, MediaFiles } from '../media/media-files.ts';
import { AttachmentFile } from './attachment-file.ts';
import { detectAttachmentType } from './attachment-type.ts';
import type { Expectation, ExpectedAttachments } from './expected-attachments.ts';
import { parseChannel } from './file-names.ts';

export interface AlarmLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  readonly maxAlarmBytes: number;
  readonly maxOpenFiles: number;
  readonly resumeMs: number;
}

interface AlarmDeps {
  readonly media: Pick<MediaFiles, 'open' | 'store'>;
  readonly expectedAttachments: Pick<ExpectedAttachments, 'markStored'>;
  readonly limits: AlarmLimits;
  readonly log: Logger;
}

/** Represents an alarm whose attachments are being received. */
export class Alarm {
  readonly expectation: Expectation;
  /** Time of the alarm on the terminal's clock. */
  readonly takenAt: string | null;
  readonly files = new Map<string, AttachmentFile>();
  /** Number of connections that have listed the alarm. */
  connectionCount = 0;
  lastLeftAtMs = performance.now();
  readonly #limits: AlarmLimits;
  readonly #newFile: (name: string, sizeBytes: number) => AttachmentFile;

  constructor(
    expectation: Expectation,
    takenAt: string | null,
    limits: AlarmLimits,
    newFile: (alarm: Alarm, name: string, sizeBytes: number) => AttachmentFile,
  ) {
    this.expectation = expectation;
    this.takenAt = takenAt;
    this.#limits = limits;
    this.#newFile = (name, sizeBytes) => newFile(this, name, sizeBytes);
  }

  get no(): string {
    return this.expectation._id;
  }

  get isComplete(): boolean {
    return [...this.files.values()].every((file) => file.isStored);
  }

  /**
   * Adds a file of the given size, or updates the size of an existing one. Returns null if the alarm has no room for
   * it.
   */
  async addFile(name: string, sizeBytes: number): Promise<AttachmentFile | null> {
    const { maxFiles, maxFileBytes, maxAlarmBytes } = this.#limits;
    const existing = this.files.get(name);
    if (existing?.isStored === true) return existing;
    let otherBytes = 0;
    for (const file of this.files.values()) if (file !== existing) otherBytes += file.sizeBytes;
    if (name === '' || sizeBytes > maxFileBytes || otherBytes + sizeBytes > maxAlarmBytes) return null;
    if (existing !== undefined) {
      await existing.resize(sizeBytes);
      return existing;
    }
    if (this.files.size >= maxFiles) return null;
    const file = this.#newFile(name, sizeBytes);
    this.files.set(name, file);
    return file;
  }
}

/**
 * Holds the alarms whose attachments this pod is receiving. Received data stays for `resumeMs` after a connection is
 * lost.
 */
export class Alarms {
  readonly #deps: AlarmDeps;
  readonly #alarms = new Map<string, Alarm>();
  #openFiles = 0;

  constructor(deps: AlarmDeps) {
    this.#deps = deps;
  }

  get openFiles(): number {
    return this.#openFiles;
  }

  /** Registers a connection that has listed an alarm. Each call requires a later call of `leave`. */
  async join(expectation: Expectation, takenAt: string | null): Promise<Alarm> {
    let alarm = this.#alarms.get(expectation._id);
    if (alarm === undefined) {
      const newFile = (owner: Alarm, name: string, sizeBytes: number): AttachmentFile =>
        this.#newFile(owner, name, sizeBytes);
      alarm = new Alarm(expectation, takenAt, this.#deps.limits, newFile);
      this.#alarms.set(alarm.no, alarm);
    }
    alarm.connectionCount += 1;
    for (const { name } of expectation.files) {
      const file = alarm.files.get(name) ?? this.#newFile(alarm, name, 0);
      alarm.files.set(name, file);
      if (!file.isStored) await file.markStored();
    }
    return alarm;
  }

  leave(alarm: Alarm): void {
    alarm.connectionCount -= 1;
    alarm.lastLeftAtMs = performance.now();
    if (alarm.connectionCount === 0 && alarm.isComplete) this.#alarms.delete(alarm.no);
  }

  /** Discards incomplete files of alarms whose terminal did not reconnect. */
  async sweep(): Promise<void> {
    const expiredBeforeMs = performance.now() - this.#deps.limits.resumeMs;
    for (const alarm of this.#alarms.values())
      if (alarm.connectionCount === 0 && alarm.lastLeftAtMs <= expiredBeforeMs) await this.#discard(alarm);
  }

  /** Discards all files that are not stored. */
  async stop(): Promise<void> {
    for (const alarm of this.#alarms.values()) await this.#discard(alarm);
  }

  #newFile(alarm: Alarm, name: string, sizeBytes: number): AttachmentFile {
    const { imei } = alarm.expectation;
    return new AttachmentFile(name, sizeBytes, false, {
      open: () => this.#open(imei),
      store: (incoming, file) => this.#store(alarm, file, incoming),
      onClosed: () => {
        this.#openFiles -= 1;
      },
    });
  }

  async #open(imei: string): Promise<IncomingFile | null> {
    const { limits, media } = this.#deps;
    if (this.#openFiles >= limits.maxOpenFiles && !(await this.#evictStalest())) return null;
    this.#openFiles += 1;
    try {
      return await media.open(imei);
    } catch (error) {
      this.#openFiles -= 1;
      throw error;
    }
  }

  /** Discards the alarm whose last connection closed the longest ago. */
  async #evictStalest(): Promise<boolean> {
    const left = [...this.#alarms.values()].filter(({ connectionCount: users }) => users === 0);
    const [stalest] = left.toSorted((a, b) => a.lastLeftAtMs - b.lastLeftAtMs);
    if (stalest === undefined) return false;
    await this.#discard(stalest);
    return this.#openFiles < this.#deps.limits.maxOpenFiles;
  }

  async #discard(alarm: Alarm): Promise<void> {
    this.#alarms.delete(alarm.no);
    for (const file of alarm.files.values()) await file.discard();
  }

  /** Stores the file and publishes its event, and only then marks it as stored. */
  async #store(alarm: Alarm, file: AttachmentFile, incoming: IncomingFile): Promise<void> {
    const { media, expectedAttachments, log } = this.#deps;
    const { imei, accountId, vehicleId, notificationId } = alarm.expectation;
    const { name } = file;
    const { kind, mimeType } = await detectAttachmentType(incoming.path, name, file.type).catch(
      async (error: unknown) => {
        await incoming.discard();
        throw error;
      },
    );
    const stored = await media.store(incoming, {
      fileIdSeed: `attachment/${alarm.no}/${name}`,
      imei,
      kind,
      mimeType,
      channel: parseChannel(name),
      source: 'alarm',
      multimediaId: null,
      takenAt: alarm.takenAt,
      receivedAtMs: Date.now(),
      place: null,
      attachment: { alarmNo: alarm.no, accountId, vehicleId, notificationId, name },
    });
    log.info({ imei, alarmNo: alarm.no, fileId: stored.fileId, sizeBytes: stored.sizeBytes }, 'stored an attachment');
    // If this update is lost, the terminal sends the file again, and the file gets the same id.
    await expectedAttachments
      .markStored(alarm.no, { name, fileId: stored.fileId })
      .catch((error: unknown) => log.warn({ err: error, alarmNo: alarm.no }, 'could not mark an attachment as stored'));
  }
}
