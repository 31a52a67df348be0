import {
  type AttachmentPacket,
  alarmAttachmentInfo,
  attachmentFileInfo,
  attachmentUploadComplete,
  attachmentUploadCompleteResponse,
  type BodyOf,
  encodeMessage,
  type Frame,
  Reassembler,
  ReplyResult,
  terminalKey,
  tryDecodeBody,
} from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import type { Alarm, Alarms } from './alarms.ts';
import type { AttachmentFile, Completion } from './attachment-file.ts';
import type { Expectation } from './expected-attachments.ts';
import { matchFileName } from './file-names.ts';
import type { AttachmentMetrics } from './metrics.ts';

/** Reason for which the server ends a connection. */
export type EndReason = 'refused' | 'fruitless' | 'unavailable' | 'failed' | 'stop';

export interface AttachmentSessionDeps {
  readonly alarms: Alarms;
  readonly findExpectation: (alarmNo: string) => Promise<Expectation | null>;
  /** Returns the reason why nothing can be stored now, or null. */
  readonly findStorageError: () => Promise<string | null>;
  readonly metrics: AttachmentMetrics;
  readonly log: Logger;
}

/** The operations of a connection that a session needs. */
export interface SessionTransport {
  readonly remoteAddress: string;
  send(bytes: Buffer): void;
  reply(frame: Frame, result: number): void;
  reserveSerials(count: number): number;
  /** Ends the connection once all data has been sent. */
  end(reason: EndReason): void;
}

/** Limited by the one-byte count of 0x9212. */
const maxMissingRanges = 255;
const maxRefusals = 3;
/** Limit for a terminal that repeats 0x1212 without sending the requested data. */
const maxStalledRounds = 20;
/** Enough for a list of 255 long names. No other message is split. */
const reassemblerLimits = { maxBytesPerTerminal: 256 * 1024, maxTransfersPerTerminal: 2, maxBytes: 256 * 1024 };

/** 0x0102 and heartbeats: some terminals send them first on this connection too. Nothing depends on them. */
const ignoredMessageIds: ReadonlySet<number> = new Set([0x0002, 0x0003, 0x0102]);

/** Handles the messages and data packets of one terminal in order (T/JSATL 12-2017 chapter 4.5). */
export class AttachmentSession {
  readonly #deps: AttachmentSessionDeps;
  readonly #transport: SessionTransport;
  readonly #alarms = new Map<string, Alarm>();
  #imei: string | null = null;
  #refusals = 0;
  #reassembler: Reassembler | null = null;
  /**
   * The file that the last 0x1211 or 0x1212 named. Data under its name belongs to it, even if other files have the same
   * name.
   */
  #currentFile: AttachmentFile | null = null;
  /** Destination of the data packet that is being received. */
  #currentPacket: { packet: AttachmentPacket; file: AttachmentFile | undefined } | null = null;

  constructor(deps: AttachmentSessionDeps, transport: SessionTransport) {
    this.#deps = deps;
    this.#transport = transport;
  }

  /** True once a list has been accepted. */
  get isAccepted(): boolean {
    return this.#alarms.size > 0;
  }

  /** True while an announced file is missing. */
  get hasMissingFiles(): boolean {
    return [...this.#alarms.values()].some((alarm) => !alarm.isComplete);
  }

  /** Releases the alarms when the connection has closed. */
  leave(): void {
    for (const alarm of this.#alarms.values()) this.#deps.alarms.leave(alarm);
    this.#alarms.clear();
  }

  async handleData(packet: AttachmentPacket, offset: number, data: Buffer): Promise<void> {
    const { metrics } = this.#deps;
    if (this.#currentPacket?.packet !== packet) this.#currentPacket = { packet, file: this.#findFile(packet) };
    const { file } = this.#currentPacket;
    if (file === undefined) {
      if (offset === packet.offset) metrics.dropped.inc({ kind: 'unknownFile' });
      return;
    }
    const written = await file.write(offset, data);
    metrics.bytes.inc(written);
    if (written < data.length && !file.isStored) metrics.dropped.inc({ kind: 'unwrittenData' });
  }

  async handleFrame(frame: Frame): Promise<void> {
    if (frame.encryption !== 0) this.#transport.reply(frame, ReplyResult.unsupported);
    else if (frame.subpackage === null) await this.#handleMessage(frame, frame.body);
    else await this.#handleSubpackage(frame);
  }

  async #handleSubpackage(frame: Frame): Promise<void> {
    this.#reassembler ??= new Reassembler({ now: () => performance.now(), ...reassemblerLimits });
    const outcome = this.#reassembler.push(frame.phone, frame);
    if (outcome.kind === 'complete') await this.#handleMessage(frame, outcome.message.body);
    else this.#transport.reply(frame, outcome.kind === 'refused' ? ReplyResult.failure : ReplyResult.success);
  }

  async #handleMessage(frame: Frame, body: Buffer): Promise<void> {
    const { messageId } = frame;
    if (messageId === alarmAttachmentInfo.id) await this.#handleAlarmInfo(frame, body);
    else if (messageId === attachmentFileInfo.id) await this.#handleFileInfo(frame, body);
    else if (messageId === attachmentUploadComplete.id) await this.#handleFileComplete(frame, body);
    // Never acknowledge an acknowledgement.
    else if (messageId !== 0x0001)
      this.#transport.reply(frame, ignoredMessageIds.has(messageId) ? ReplyResult.success : ReplyResult.unsupported);
  }

  /** Handles 0x1210. Accepts the list if the alarm is expected from this terminal. */
  async #handleAlarmInfo(frame: Frame, bytes: Buffer): Promise<void> {
    const { metrics, log } = this.#deps;
    const { lists } = metrics;
    const decoded = tryDecodeBody(alarmAttachmentInfo, bytes);
    if (!decoded.ok) {
      lists.inc({ result: 'unreadable' });
      this.#transport.reply(frame, ReplyResult.incorrect);
      return;
    }
    const storageError = await this.#deps.findStorageError();
    const expectation = storageError === null ? await this.#findExpectation(frame, decoded.body.alarmNo) : 'failed';
    if (expectation === 'failed') {
      lists.inc({ result: 'failed' });
      // The terminal reconnects, or receives another request.
      this.#transport.end('unavailable');
      return;
    }
    if (expectation === null || !(await this.#join(expectation, decoded.body))) {
      lists.inc({ result: 'refused' });
      log.debug(
        { ip: this.#transport.remoteAddress, imei: terminalKey(frame.phone) },
        'refused unexpected attachments',
      );
      this.#refuse(frame);
      return;
    }
    lists.inc({ result: 'accepted' });
    this.#transport.reply(frame, ReplyResult.success);
  }

  /** Returns what the frame's terminal is expected to send for this alarm number; null if nothing is expected. */
  async #findExpectation(frame: Frame, alarmNo: string): Promise<Expectation | null | 'failed'> {
    const no = alarmNo.trim().toLowerCase();
    const imei = terminalKey(frame.phone);
    if (imei === null || !/^[0-9a-f]{32}$/.test(no) || (this.#imei !== null && this.#imei !== imei)) return null;
    try {
      const found = await this.#deps.findExpectation(no);
      if (found === null || found.imei !== imei || found.expiresAtMs <= Date.now()) return null;
      this.#imei = imei;
      return found;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'could not read the expected attachments');
      return 'failed';
    }
  }

  /** Returns false if none of the listed files can be accepted. */
  async #join(expectation: Expectation, { tag, files }: BodyOf<typeof alarmAttachmentInfo>): Promise<boolean> {
    let alarm = this.#alarms.get(expectation._id);
    if (alarm === undefined) {
      alarm = await this.#deps.alarms.join(expectation, toIsoTime(tag.time));
      this.#alarms.set(alarm.no, alarm);
    }
    let acceptedCount = 0;
    for (const { name, size } of files) if ((await alarm.addFile(name.trim(), size)) !== null) acceptedCount += 1;
    return acceptedCount > 0 || files.length === 0;
  }

  /** Handles 0x1211. */
  async #handleFileInfo(frame: Frame, bytes: Buffer): Promise<void> {
    const decoded = tryDecodeBody(attachmentFileInfo, bytes);
    if (!decoded.ok) this.#transport.reply(frame, ReplyResult.incorrect);
    else if ((await this.#findAnnouncedFile(frame, decoded.body)) === null) this.#refuse(frame);
    else this.#transport.reply(frame, ReplyResult.success);
  }

  /** Handles 0x1212. Responds with success only once the file is stored. */
  async #handleFileComplete(frame: Frame, bytes: Buffer): Promise<void> {
    const { files } = this.#deps.metrics;
    const decoded = tryDecodeBody(attachmentUploadComplete, bytes);
    if (!decoded.ok) {
      this.#transport.reply(frame, ReplyResult.incorrect);
      return;
    }
    const file = await this.#findAnnouncedFile(frame, decoded.body);
    if (file === null) {
      files.inc({ result: 'refused' });
      this.#refuse(frame);
      return;
    }
    try {
      const completion = await file.complete(maxMissingRanges);
      files.inc({ result: completion.kind });
      this.#sendFileCompleteResponse(frame, decoded.body, completion);
      if (file.stalledRounds > maxStalledRounds) this.#transport.end('fruitless');
    } catch (error) {
      files.inc({ result: 'failed' });
      throw error;
    }
  }

  #sendFileCompleteResponse(
    frame: Frame,
    { name, type }: BodyOf<typeof attachmentUploadComplete>,
    completion: Completion,
  ): void {
    const missing = completion.kind === 'incomplete' ? completion.missing : [];
    const body = { name, type, result: completion.kind === 'incomplete' ? 1 : 0, retransmit: [...missing] };
    const header = { edition: '2013' as const, phone: frame.toAddress() };
    const { length } = encodeMessage(attachmentUploadCompleteResponse, body, { ...header, serial: 0 });
    const serial = this.#transport.reserveSerials(length);
    for (const bytes of encodeMessage(attachmentUploadCompleteResponse, body, { ...header, serial }))
      this.#transport.send(bytes);
  }

  /** Returns the file that a 0x1211 or 0x1212 names. Some terminals do not list it first. */
  async #findAnnouncedFile(frame: Frame, info: BodyOf<typeof attachmentFileInfo>): Promise<AttachmentFile | null> {
    const name = info.name.trim();
    const alarms = [...this.#alarms.values()];
    const alarm =
      this.#findAlarmByFile(name, info.size) ??
      alarms.find(({ no }) => name.toLowerCase().includes(no)) ??
      alarms.at(-1);
    if (alarm === undefined || terminalKey(frame.phone) !== this.#imei) return null;
    const file = await alarm.addFile(name, info.size);
    if (file === null) return null;
    file.type = info.type;
    this.#currentFile = file;
    return file;
  }

  #findFile(packet: AttachmentPacket): AttachmentFile | undefined {
    const alarms = [...this.#alarms.values()];
    // Several alarms may have files of the same name. The set makes such a name match only once.
    const names = new Set(alarms.flatMap(({ files }) => [...files.keys()]));
    const name = matchFileName(packet, [...names]);
    if (name === undefined) return undefined;
    if (this.#currentFile?.name === name && !this.#currentFile.isStored) return this.#currentFile;
    return this.#findAlarmByFile(name)?.files.get(name);
  }

  /**
   * Returns the alarm that has a file of this name. Some terminals use the same names for every alarm: prefers an alarm
   * whose file is missing, if possible with the given size, and otherwise the last one.
   */
  #findAlarmByFile(name: string, sizeBytes?: number): Alarm | undefined {
    const alarms = [...this.#alarms.values()].filter(({ files }) => files.has(name));
    const missing = alarms.filter(({ files }) => files.get(name)?.isStored === false);
    const sized = missing.findLast(({ files }) => files.get(name)?.sizeBytes === sizeBytes);
    return sized ?? missing.at(-1) ?? alarms.at(-1);
  }

  #refuse(frame: Frame): void {
    this.#refusals += 1;
    this.#transport.reply(frame, ReplyResult.failure);
    if (this.#refusals >= maxRefusals) this.#transport.end('refused');
  }
}

/** Returns the time of the alarm tag in ISO format; null if it is not a valid time. */
const toIsoTime = (time: unknown): string | null =>
  typeof time === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(time) ? time : null;
