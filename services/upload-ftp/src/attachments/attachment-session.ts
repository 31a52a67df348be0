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

/** Why the server ends a connection. */
export type EndReason = 'refused' | 'fruitless' | 'unavailable' | 'failed' | 'stop';

export interface AttachmentSessionDeps {
  readonly alarms: Alarms;
  readonly findExpectation: (alarmNo: string) => Promise<Expectation | null>;
  /** Why nothing can be taken now, if so. */
  readonly findStorageError: () => Promise<string | null>;
  readonly metrics: AttachmentMetrics;
  readonly log: Logger;
}

/** What a conversation needs of its connection. */
export interface SessionTransport {
  readonly remoteAddress: string;
  send(bytes: Buffer): void;
  reply(frame: Frame, result: number): void;
  reserveSerials(count: number): number;
  /** Ends it once everything has been sent. */
  end(reason: EndReason): void;
}

/** The count byte of 0x9212. */
const maxMissingRanges = 255;
const maxRefusals = 3;
/** A terminal that calls a file done again and again, and sends nothing of what it is asked for. */
const maxStalledRounds = 20;
/** Lists of 255 long names fit; nothing else is ever split. */
const reassemblerLimits = { maxBytesPerTerminal: 256 * 1024, maxTransfersPerTerminal: 2, maxBytes: 256 * 1024 };

/** 0x0102 and heartbeats, with which some begin this connection too; nothing depends on them. */
const ignoredMessageIds: ReadonlySet<number> = new Set([0x0002, 0x0003, 0x0102]);

/** What one terminal says on its connection (T/JSATL 12-2017 chapter 4.5), one thing after the other. */
export class AttachmentSession {
  readonly #deps: AttachmentSessionDeps;
  readonly #transport: SessionTransport;
  readonly #alarms = new Map<string, Alarm>();
  #imei: string | null = null;
  #refusals = 0;
  #reassembler: Reassembler | null = null;
  /** What 0x1211 or 0x1212 named last: data under its name are of it, whatever else is named alike. */
  #currentFile: AttachmentFile | null = null;
  /** Where the data of the packet that is coming go. */
  #currentPacket: { packet: AttachmentPacket; file: AttachmentFile | undefined } | null = null;

  constructor(deps: AttachmentSessionDeps, transport: SessionTransport) {
    this.#deps = deps;
    this.#transport = transport;
  }

  /** A list has been accepted. */
  get isAccepted(): boolean {
    return this.#alarms.size > 0;
  }

  /** Something that was announced is missing. */
  get hasMissingFiles(): boolean {
    return [...this.#alarms.values()].some((alarm) => !alarm.isComplete);
  }

  /** The connection is gone. */
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

  /** 0x1210: taken when the alarm is expected, and of this terminal. */
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
      // It comes back, or is asked again.
      this.#transport.end('unavailable');
      return;
    }
    if (expectation === null || !(await this.#join(expectation, decoded.body))) {
      lists.inc({ result: 'refused' });
      log.debug({ ip: this.#transport.remoteAddress, imei: terminalKey(frame.phone) }, 'attachments are not expected');
      this.#refuse(frame);
      return;
    }
    lists.inc({ result: 'accepted' });
    this.#transport.reply(frame, ReplyResult.success);
  }

  /** What is expected of the frame's terminal under this number; null when nothing is. */
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
      this.#deps.log.warn({ err: error }, 'expected attachments could not be looked up');
      return 'failed';
    }
  }

  /** False when none of the files that it lists can be taken. */
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

  /** 0x1211. */
  async #handleFileInfo(frame: Frame, bytes: Buffer): Promise<void> {
    const decoded = tryDecodeBody(attachmentFileInfo, bytes);
    if (!decoded.ok) this.#transport.reply(frame, ReplyResult.incorrect);
    else if ((await this.#findAnnouncedFile(frame, decoded.body)) === null) this.#refuse(frame);
    else this.#transport.reply(frame, ReplyResult.success);
  }

  /** 0x1212: answered with success only once the file is kept. */
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

  /** The file that 0x1211 or 0x1212 names, which some terminals do not list before. */
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
    // Alarms may have files of the same name, which has one meaning all the same.
    const names = new Set(alarms.flatMap(({ files }) => [...files.keys()]));
    const name = matchFileName(packet, [...names]);
    if (name === undefined) return undefined;
    if (this.#currentFile?.name === name && !this.#currentFile.isStored) return this.#currentFile;
    return this.#findAlarmByFile(name)?.files.get(name);
  }

  /**
   * The alarm that has a file of this name. Some terminals name the files of each alarm alike: it is one that misses it, with the size that is told where that
   * helps, or else the last.
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

/** A time of the tag, where it is one. */
const toIsoTime = (time: unknown): string | null =>
  typeof time === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(time) ? time : null;
