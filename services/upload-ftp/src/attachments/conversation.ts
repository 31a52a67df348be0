import {
  type AttachmentPacket,
  alarmAttachmentInfo,
  attachmentFileDone,
  attachmentFileDoneResponse,
  attachmentFileInfo,
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
import type { Expectation } from './expectations.ts';
import { nameOf } from './file-names.ts';
import type { AttachmentMetrics } from './metrics.ts';

/** Why the server ends a connection. */
export type EndReason = 'refused' | 'fruitless' | 'unavailable' | 'failed' | 'stop';

export interface ConversationParts {
  readonly alarms: Alarms;
  readonly findExpectation: (alarmNo: string) => Promise<Expectation | null>;
  /** Why nothing can be taken now, if so. */
  readonly obstacle: () => Promise<string | null>;
  readonly metrics: AttachmentMetrics;
  readonly log: Logger;
}

/** What a conversation needs of its connection. */
export interface Line {
  readonly remoteAddress: string;
  send(bytes: Buffer): void;
  reply(frame: Frame, result: number): void;
  takeSerials(count: number): number;
  /** Ends it once everything has been sent. */
  end(reason: EndReason): void;
}

/** The count byte of 0x9212. */
const mostMissing = 255;
const maxRefusals = 3;
/** A terminal that calls a file done again and again, and sends nothing of what it is asked for. */
const maxFruitless = 20;
/** Lists of 255 long names fit; nothing else is ever split. */
const reassemblerLimits = { maxBytesPerTerminal: 256 * 1024, maxTransfersPerTerminal: 2, maxBytes: 256 * 1024 };

/** 0x0102 and heartbeats, with which some begin this connection too; nothing depends on them. */
const harmless: ReadonlySet<number> = new Set([0x0002, 0x0003, 0x0102]);

/** What one terminal says on its connection (T/JSATL 12-2017 chapter 4.5), one thing after the other. */
export class Conversation {
  readonly #parts: ConversationParts;
  readonly #line: Line;
  readonly #alarms = new Map<string, Alarm>();
  #imei: string | null = null;
  #refusals = 0;
  #reassembler: Reassembler | null = null;
  /** What 0x1211 or 0x1212 named last: data under its name are of it, whatever else is named alike. */
  #told: AttachmentFile | null = null;
  /** Where the data of the packet that is coming go. */
  #latest: { packet: AttachmentPacket; file: AttachmentFile | undefined } | null = null;

  constructor(parts: ConversationParts, line: Line) {
    this.#parts = parts;
    this.#line = line;
  }

  /** A list has been accepted. */
  get isKnown(): boolean {
    return this.#alarms.size > 0;
  }

  /** Something that was announced is missing. */
  get isUnfinished(): boolean {
    return [...this.#alarms.values()].some((alarm) => !alarm.isWhole);
  }

  /** The connection is gone. */
  leave(): void {
    for (const alarm of this.#alarms.values()) this.#parts.alarms.leave(alarm);
    this.#alarms.clear();
  }

  async takeData(packet: AttachmentPacket, offset: number, data: Buffer): Promise<void> {
    const { metrics } = this.#parts;
    if (this.#latest?.packet !== packet) this.#latest = { packet, file: this.#fileOf(packet) };
    const { file } = this.#latest;
    if (file === undefined) {
      if (offset === packet.offset) metrics.dropped.inc({ kind: 'unknownFile' });
      return;
    }
    const written = await file.write(offset, data);
    metrics.bytes.inc(written);
    if (written < data.length && !file.isKept) metrics.dropped.inc({ kind: 'unwrittenData' });
  }

  async takeFrame(frame: Frame): Promise<void> {
    if (frame.encryption !== 0) this.#line.reply(frame, ReplyResult.unsupported);
    else if (frame.subpackage === null) await this.#takeWhole(frame, frame.body);
    else await this.#takePart(frame);
  }

  async #takePart(frame: Frame): Promise<void> {
    this.#reassembler ??= new Reassembler({ now: () => performance.now(), ...reassemblerLimits });
    const outcome = this.#reassembler.push(frame.phone, frame);
    if (outcome.kind === 'complete') await this.#takeWhole(frame, outcome.message.body);
    else this.#line.reply(frame, outcome.kind === 'refused' ? ReplyResult.failure : ReplyResult.success);
  }

  async #takeWhole(frame: Frame, body: Buffer): Promise<void> {
    const { messageId } = frame;
    if (messageId === alarmAttachmentInfo.id) await this.#takeList(frame, body);
    else if (messageId === attachmentFileInfo.id) await this.#takeInfo(frame, body);
    else if (messageId === attachmentFileDone.id) await this.#takeDone(frame, body);
    // Never acknowledge an acknowledgement.
    else if (messageId !== 0x0001)
      this.#line.reply(frame, harmless.has(messageId) ? ReplyResult.success : ReplyResult.unsupported);
  }

  /** 0x1210: taken when the alarm is expected, and of this terminal. */
  async #takeList(frame: Frame, bytes: Buffer): Promise<void> {
    const { metrics, log } = this.#parts;
    const { lists } = metrics;
    const decoded = tryDecodeBody(alarmAttachmentInfo, bytes);
    if (!decoded.ok) {
      lists.inc({ result: 'unreadable' });
      this.#line.reply(frame, ReplyResult.incorrect);
      return;
    }
    const obstacle = await this.#parts.obstacle();
    const expectation = obstacle === null ? await this.#expectation(frame, decoded.body.alarmNo) : 'failed';
    if (expectation === 'failed') {
      lists.inc({ result: 'failed' });
      // It comes back, or is asked again.
      this.#line.end('unavailable');
      return;
    }
    if (expectation === null || !(await this.#join(expectation, decoded.body))) {
      lists.inc({ result: 'refused' });
      log.debug({ ip: this.#line.remoteAddress, imei: terminalKey(frame.phone) }, 'attachments are not expected');
      this.#refuse(frame);
      return;
    }
    lists.inc({ result: 'accepted' });
    this.#line.reply(frame, ReplyResult.success);
  }

  /** What is expected of the frame's terminal under this number; null when nothing is. */
  async #expectation(frame: Frame, alarmNo: string): Promise<Expectation | null | 'failed'> {
    const no = alarmNo.trim().toLowerCase();
    const imei = terminalKey(frame.phone);
    if (imei === null || !/^[0-9a-f]{32}$/.test(no) || (this.#imei !== null && this.#imei !== imei)) return null;
    try {
      const found = await this.#parts.findExpectation(no);
      if (found === null || found.imei !== imei || found.expiresAtMs <= Date.now()) return null;
      this.#imei = imei;
      return found;
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'expected attachments could not be looked up');
      return 'failed';
    }
  }

  /** False when none of the files that it lists can be taken. */
  async #join(expectation: Expectation, { tag, files }: BodyOf<typeof alarmAttachmentInfo>): Promise<boolean> {
    let alarm = this.#alarms.get(expectation._id);
    if (alarm === undefined) {
      alarm = await this.#parts.alarms.join(expectation, isoTime(tag.time));
      this.#alarms.set(alarm.no, alarm);
    }
    let taken = 0;
    for (const { name, size } of files) if ((await alarm.announce(name.trim(), size)) !== null) taken += 1;
    return taken > 0 || files.length === 0;
  }

  /** 0x1211. */
  async #takeInfo(frame: Frame, bytes: Buffer): Promise<void> {
    const decoded = tryDecodeBody(attachmentFileInfo, bytes);
    if (!decoded.ok) this.#line.reply(frame, ReplyResult.incorrect);
    else if ((await this.#announced(frame, decoded.body)) === null) this.#refuse(frame);
    else this.#line.reply(frame, ReplyResult.success);
  }

  /** 0x1212: answered with success only once the file is kept. */
  async #takeDone(frame: Frame, bytes: Buffer): Promise<void> {
    const { files } = this.#parts.metrics;
    const decoded = tryDecodeBody(attachmentFileDone, bytes);
    if (!decoded.ok) {
      this.#line.reply(frame, ReplyResult.incorrect);
      return;
    }
    const file = await this.#announced(frame, decoded.body);
    if (file === null) {
      files.inc({ result: 'refused' });
      this.#refuse(frame);
      return;
    }
    try {
      const completion = await file.complete(mostMissing);
      files.inc({ result: completion.kind });
      this.#answerDone(frame, decoded.body, completion);
      if (file.fruitless > maxFruitless) this.#line.end('fruitless');
    } catch (error) {
      files.inc({ result: 'failed' });
      throw error;
    }
  }

  #answerDone(frame: Frame, { name, type }: BodyOf<typeof attachmentFileDone>, completion: Completion): void {
    const missing = completion.kind === 'incomplete' ? completion.missing : [];
    const body = { name, type, result: completion.kind === 'incomplete' ? 1 : 0, retransmit: [...missing] };
    const header = { edition: '2013' as const, phone: frame.address() };
    const { length } = encodeMessage(attachmentFileDoneResponse, body, { ...header, serial: 0 });
    const serial = this.#line.takeSerials(length);
    for (const bytes of encodeMessage(attachmentFileDoneResponse, body, { ...header, serial })) this.#line.send(bytes);
  }

  /** The file that 0x1211 or 0x1212 names, which some terminals do not list before. */
  async #announced(frame: Frame, told: BodyOf<typeof attachmentFileInfo>): Promise<AttachmentFile | null> {
    const name = told.name.trim();
    const alarms = [...this.#alarms.values()];
    const alarm =
      this.#listing(name, told.size) ?? alarms.find(({ no }) => name.toLowerCase().includes(no)) ?? alarms.at(-1);
    if (alarm === undefined || terminalKey(frame.phone) !== this.#imei) return null;
    const file = await alarm.announce(name, told.size);
    if (file === null) return null;
    file.type = told.type;
    this.#told = file;
    return file;
  }

  #fileOf(packet: AttachmentPacket): AttachmentFile | undefined {
    const alarms = [...this.#alarms.values()];
    // Alarms may have files of the same name, which has one meaning all the same.
    const names = new Set(alarms.flatMap(({ files }) => [...files.keys()]));
    const name = nameOf(packet, [...names]);
    if (name === undefined) return undefined;
    if (this.#told?.name === name && !this.#told.isKept) return this.#told;
    return this.#listing(name)?.files.get(name);
  }

  /**
   * The alarm that has a file of this name. Some terminals name the files of each alarm alike: it is one that misses it, with the size that is told where that
   * helps, or else the last.
   */
  #listing(name: string, sizeBytes?: number): Alarm | undefined {
    const alarms = [...this.#alarms.values()].filter(({ files }) => files.has(name));
    const missing = alarms.filter(({ files }) => files.get(name)?.isKept === false);
    const sized = missing.findLast(({ files }) => files.get(name)?.sizeBytes === sizeBytes);
    return sized ?? missing.at(-1) ?? alarms.at(-1);
  }

  #refuse(frame: Frame): void {
    this.#refusals += 1;
    this.#line.reply(frame, ReplyResult.failure);
    if (this.#refusals >= maxRefusals) this.#line.end('refused');
  }
}

/** A time of the tag, where it is one. */
const isoTime = (time: unknown): string | null =>
  typeof time === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(time) ? time : null;
