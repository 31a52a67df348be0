import { setTimeout as delay } from 'node:timers/promises';
import {
  type AlarmTag,
  alarmAttachmentInfo,
  attachmentFileDone,
  attachmentFileDoneResponse,
  attachmentFileInfo,
  decodeBody,
  encodeAttachmentPacket,
  readAlarmTag,
} from '@fleet/jt808';
import { messageOf } from '../answers/answering.ts';
import { Outbox } from '../outbox.ts';
import type { ResolvedOptions } from '../terminal-options.ts';
import { AttachmentLink } from './attachment-link.ts';
import type { AttachmentBreak } from './attachment-options.ts';

/** What became of one file of an alarm. */
export interface AttachmentFileRecord {
  name: string;
  type: number;
  content: Buffer;
  /** Bytes of data that were sent, those that were sent twice counted twice. */
  sentBytes: number;
  /** Times that the platform has asked for something again. */
  resends: number;
  /** 0x9212 has said that it is there. */
  isAcknowledged: boolean;
}

/** One answer to a 0x9208. */
export interface AttachmentUploadRecord {
  alarmNo: string;
  server: { host: string; port: number };
  files: AttachmentFileRecord[];
  /** Connections so far. */
  attempts: number;
  state: 'sending' | 'completed' | 'failed';
  error: string | null;
}

interface Stretch {
  offset: number;
  length: number;
}

const chunkBytes = 64 * 1024;
const mostRounds = 100;

/** The platform has said no; a terminal does not come back. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** An accident that the options told of. */
class AccidentError extends Error {
  override readonly name = 'AccidentError';
}

/** Sends the files of one alarm, over as many connections as it takes (T/JSATL 12-2017 chapter 4.5). */
export class AttachmentJob {
  readonly record: AttachmentUploadRecord;
  readonly #tag: AlarmTag;
  readonly #options: ResolvedOptions;
  readonly #breaks: AttachmentBreak[];
  readonly #outbox: Outbox;
  readonly #abort = new AbortController();
  /** What of each file was not sent yet. */
  readonly #rest = new Map<string, Stretch[]>();
  #link: AttachmentLink | null = null;
  #sentOnLink = 0;

  constructor(record: AttachmentUploadRecord, tag: Buffer, options: ResolvedOptions, breaks: AttachmentBreak[]) {
    this.record = record;
    this.#tag = readAlarmTag(tag);
    this.#options = options;
    this.#breaks = breaks;
    this.#outbox = new Outbox(options.phone, options.edition);
  }

  /** Ends it, without a word to the platform. */
  stop(): void {
    this.#abort.abort();
    this.#link?.destroy();
  }

  async run(): Promise<void> {
    const { attachmentRetries = 10, attachmentRetryMs = 1_000 } = this.#options;
    const { record } = this;
    for (;;) {
      try {
        await this.#attempt();
        record.state = 'completed';
        record.error = null;
        return;
      } catch (error) {
        record.error = error instanceof Error ? error.message : String(error);
        if (error instanceof RefusedError || this.#abort.signal.aborted || record.attempts > attachmentRetries) {
          record.state = 'failed';
          return;
        }
      }
      await delay(attachmentRetryMs, undefined, { signal: this.#abort.signal }).catch(() => undefined);
    }
  }

  async #attempt(): Promise<void> {
    const { record } = this;
    const isAgain = record.attempts > 0;
    record.attempts += 1;
    const link = await AttachmentLink.open(record.server, this.#outbox);
    this.#link = link;
    this.#sentOnLink = 0;
    try {
      if (this.#abort.signal.aborted) throw new RefusedError('stopped');
      await this.#list(link, isAgain);
      for (const file of record.files) if (!file.isAcknowledged) await this.#send(link, file, isAgain);
      link.end('finish');
    } catch (error) {
      // An accident has ended the connection in its own way.
      if (!(error instanceof AccidentError)) link.destroy();
      throw error;
    } finally {
      this.#link = null;
    }
  }

  async #list(link: AttachmentLink, isAgain: boolean): Promise<void> {
    const { alarmNo, files } = this.record;
    const body = {
      terminalIdLength: this.#tag.terminalIdLength ?? 7,
      terminalId: this.#tag.terminalId,
      tag: this.#tag,
      alarmNo,
      infoType: isAgain ? 1 : 0,
      files: files.map(({ name, content }) => ({ name, size: content.length })),
    };
    const result = await link.confirmed(messageOf(alarmAttachmentInfo, body, this.#options.edition));
    if (result !== 0) throw new RefusedError(`0x1210 is answered with ${result}`);
  }

  async #send(link: AttachmentLink, file: AttachmentFileRecord, isAgain: boolean): Promise<void> {
    const { attachmentResume = 'rest', attachmentSkipsInfo = false, edition } = this.#options;
    const { name, type, content } = file;
    const about = { name, type, size: content.length };
    if (!attachmentSkipsInfo) {
      const result = await link.confirmed(messageOf(attachmentFileInfo, about, edition));
      if (result !== 0) throw new RefusedError(`0x1211 is answered with ${result}`);
    }
    const known = isAgain && attachmentResume === 'rest' ? this.#rest.get(name) : undefined;
    let stretches = known ?? this.#firstStretches(file);
    for (let round = 0; round < mostRounds; round += 1) {
      await this.#sendStretches(link, file, stretches);
      stretches = await this.#done(link, file, about);
      if (file.isAcknowledged) return;
    }
    throw new RefusedError(`${name} is never done`);
  }

  /** 0x1212; gives what is to be sent again. */
  async #done(link: AttachmentLink, file: AttachmentFileRecord, about: { name: string; type: number; size: number }) {
    const message = messageOf(attachmentFileDone, about, this.#options.edition);
    const times = this.#options.attachmentRepeatsDone === true ? 2 : 1;
    for (let time = 0; time < times; time += 1) link.send(message);
    let missing: Stretch[] = [];
    for (let time = 0; time < times; time += 1) {
      const answer = await link.next(attachmentFileDoneResponse.id, 0x8001);
      if (answer.messageId === 0x8001) throw new RefusedError('0x1212 is refused');
      const { result, retransmit } = decodeBody(attachmentFileDoneResponse, answer.body);
      file.isAcknowledged = result === 0;
      missing = retransmit;
    }
    if (!file.isAcknowledged) file.resends += 1;
    return missing;
  }

  /** Chunks of a file in the order in which they go out the first time. */
  #firstStretches({ content }: AttachmentFileRecord): Stretch[] {
    const { attachmentChunkBytes = chunkBytes, attachmentLostChunks = [], attachmentOrder } = this.#options;
    const chunks: Stretch[] = [];
    for (let offset = 0; offset < content.length; offset += attachmentChunkBytes)
      chunks.push({ offset, length: Math.min(attachmentChunkBytes, content.length - offset) });
    const kept = chunks.filter((_chunk, index) => !attachmentLostChunks.includes(index));
    if (attachmentOrder === 'reversed') return kept.toReversed();
    return attachmentOrder === 'twice' ? kept.flatMap((chunk) => [chunk, chunk]) : kept;
  }

  async #sendStretches(link: AttachmentLink, file: AttachmentFileRecord, stretches: readonly Stretch[]): Promise<void> {
    const { attachmentChunkBytes = chunkBytes, attachmentBytesPerSecond } = this.#options;
    const rest = [...stretches];
    this.#rest.set(file.name, rest);
    for (let next = rest[0]; next !== undefined; next = rest[0]) {
      const length = Math.min(next.length, attachmentChunkBytes);
      const data = file.content.subarray(next.offset, next.offset + length);
      await this.#packet(link, file, next.offset, data);
      // What was written counts as sent, as for a terminal that can not know better.
      if (length < next.length) rest[0] = { offset: next.offset + length, length: next.length - length };
      else rest.shift();
      if (attachmentBytesPerSecond !== undefined)
        await delay((length / attachmentBytesPerSecond) * 1_000, undefined, { signal: this.#abort.signal });
    }
  }

  async #packet(link: AttachmentLink, file: AttachmentFileRecord, offset: number, data: Buffer): Promise<void> {
    const packet = encodeAttachmentPacket(file.name, offset, data);
    const [accident] = this.#breaks;
    if (accident !== undefined && this.#sentOnLink + data.length > accident.afterBytes) {
      await this.#break(link, accident, packet.subarray(0, packet.length - Math.ceil(data.length / 2)));
    }
    await link.raw(packet);
    file.sentBytes += data.length;
    this.#sentOnLink += data.length;
  }

  /** Half a packet goes out, and the connection ends. */
  async #break(link: AttachmentLink, accident: AttachmentBreak, half: Buffer): Promise<never> {
    const times = (accident.times ?? 1) - 1;
    this.#breaks.splice(0, 1, ...(times > 0 ? [{ ...accident, times }] : []));
    await link.raw(half);
    link.end(accident.how);
    throw new AccidentError(`told to break: ${accident.how}`);
  }
}
