import type { Logger } from '@fleet/service-kit';
import type { IncomingFile, MediaFiles } from '../media/media-files.ts';
import { AttachmentFile } from './attachment-file.ts';
import { contentOf } from './content.ts';
import type { Expectation, Expectations } from './expectations.ts';
import { channelOf } from './file-names.ts';

export interface AlarmLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  readonly maxAlarmBytes: number;
  readonly maxOpenFiles: number;
  readonly resumeMs: number;
}

export interface AlarmParts {
  readonly media: Pick<MediaFiles, 'open' | 'keep'>;
  readonly expectations: Pick<Expectations, 'addKept'>;
  readonly limits: AlarmLimits;
  readonly log: Logger;
}

/** An alarm whose attachments are on their way. */
export class Alarm {
  readonly expectation: Expectation;
  /** When it was, on the terminal's clock. */
  readonly takenAt: string | null;
  readonly files = new Map<string, AttachmentFile>();
  /** Connections that have listed it. */
  users = 0;
  leftAtMs = performance.now();
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

  get isWhole(): boolean {
    return [...this.files.values()].every((file) => file.isKept);
  }

  /** A file is to come, with this size: the file, or null where the alarm has no room for it. */
  async announce(name: string, sizeBytes: number): Promise<AttachmentFile | null> {
    const { maxFiles, maxFileBytes, maxAlarmBytes } = this.#limits;
    const known = this.files.get(name);
    if (known?.isKept === true) return known;
    let others = 0;
    for (const file of this.files.values()) if (file !== known) others += file.sizeBytes;
    if (name === '' || sizeBytes > maxFileBytes || others + sizeBytes > maxAlarmBytes) return null;
    if (known !== undefined) {
      await known.resize(sizeBytes);
      return known;
    }
    if (this.files.size >= maxFiles) return null;
    const file = this.#newFile(name, sizeBytes);
    this.files.set(name, file);
    return file;
  }
}

/** Alarms whose attachments are on their way to this pod. What has come stays for a while when its connection is lost. */
export class Alarms {
  readonly #parts: AlarmParts;
  readonly #alarms = new Map<string, Alarm>();
  #openFiles = 0;

  constructor(parts: AlarmParts) {
    this.#parts = parts;
  }

  get openFiles(): number {
    return this.#openFiles;
  }

  /** A connection has listed an alarm; `leave` is to follow. */
  async join(expectation: Expectation, takenAt: string | null): Promise<Alarm> {
    let alarm = this.#alarms.get(expectation._id);
    if (alarm === undefined) {
      const newFile = (of: Alarm, name: string, sizeBytes: number): AttachmentFile =>
        this.#newFile(of, name, sizeBytes);
      alarm = new Alarm(expectation, takenAt, this.#parts.limits, newFile);
      this.#alarms.set(alarm.no, alarm);
    }
    alarm.users += 1;
    for (const { name } of expectation.files) {
      const file = alarm.files.get(name) ?? this.#newFile(alarm, name, 0);
      alarm.files.set(name, file);
      if (!file.isKept) await file.setKept();
    }
    return alarm;
  }

  leave(alarm: Alarm): void {
    alarm.users -= 1;
    alarm.leftAtMs = performance.now();
    if (alarm.users === 0 && alarm.isWhole) this.#alarms.delete(alarm.no);
  }

  /** Forgets what has come for alarms whose terminal has not come back. */
  async sweep(): Promise<void> {
    const overBefore = performance.now() - this.#parts.limits.resumeMs;
    for (const alarm of this.#alarms.values())
      if (alarm.users === 0 && alarm.leftAtMs <= overBefore) await this.#forget(alarm);
  }

  /** Forgets everything that is not kept. */
  async stop(): Promise<void> {
    for (const alarm of this.#alarms.values()) await this.#forget(alarm);
  }

  #newFile(alarm: Alarm, name: string, sizeBytes: number): AttachmentFile {
    const { imei } = alarm.expectation;
    return new AttachmentFile(name, sizeBytes, false, {
      open: () => this.#open(imei),
      keep: (incoming, file) => this.#keep(alarm, file, incoming),
      closed: () => {
        this.#openFiles -= 1;
      },
    });
  }

  async #open(imei: string): Promise<IncomingFile | null> {
    const { limits, media } = this.#parts;
    if (this.#openFiles >= limits.maxOpenFiles && !(await this.#makeRoom())) return null;
    this.#openFiles += 1;
    try {
      return await media.open(imei);
    } catch (error) {
      this.#openFiles -= 1;
      throw error;
    }
  }

  /** Gives up the alarm that its terminal has left the longest. */
  async #makeRoom(): Promise<boolean> {
    const left = [...this.#alarms.values()].filter(({ users }) => users === 0);
    const [stalest] = left.toSorted((a, b) => a.leftAtMs - b.leftAtMs);
    if (stalest === undefined) return false;
    await this.#forget(stalest);
    return this.#openFiles < this.#parts.limits.maxOpenFiles;
  }

  async #forget(alarm: Alarm): Promise<void> {
    this.#alarms.delete(alarm.no);
    for (const file of alarm.files.values()) await file.discard();
  }

  /** Stored and told of, and only then remembered as kept. */
  async #keep(alarm: Alarm, file: AttachmentFile, incoming: IncomingFile): Promise<void> {
    const { media, expectations, log } = this.#parts;
    const { imei, accountId, vehicleId, notificationId } = alarm.expectation;
    const { name } = file;
    const { kind, mimeType } = await contentOf(incoming.path, name, file.type).catch(async (error: unknown) => {
      await incoming.discard();
      throw error;
    });
    const stored = await media.keep(incoming, {
      fileIdSeed: `attachment/${alarm.no}/${name}`,
      imei,
      kind,
      mimeType,
      channel: channelOf(name),
      source: 'alarm',
      multimediaId: null,
      takenAt: alarm.takenAt,
      receivedAtMs: Date.now(),
      place: null,
      attachment: { alarmNo: alarm.no, accountId, vehicleId, notificationId, name },
    });
    log.info({ imei, alarmNo: alarm.no, fileId: stored.fileId, sizeBytes: stored.sizeBytes }, 'an attachment is kept');
    // Should this be lost, the terminal sends the file once more, and it is the same one.
    await expectations
      .addKept(alarm.no, { name, fileId: stored.fileId })
      .catch((error: unknown) => log.warn({ err: error, alarmNo: alarm.no }, 'a kept attachment could not be noted'));
  }
}
