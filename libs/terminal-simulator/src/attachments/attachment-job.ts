import { setTimeout as delay } from 'node:timers/promises';
import {
  type AlarmTag,
  alarmAttachmentInfo,
  attachmentFileInfo,
  attachmentUploadComplete,
  attachmentUploadCompleteResponse,
  decodeBody,
  encodeAttachmentPacket,
  readAlarmTag,
} from '@fleet/jt808';
import { createMessage } from '../handlers/handler-context.ts';
import { MessageEncoder } from '../message-encoder.ts';
import type { ResolvedOptions } from '../terminal-options.ts';
import { AttachmentLink } from './attachment-link.ts';
import type { AttachmentFault } from './attachment-options.ts';

/** Upload state of one file of an alarm. */
export interface AttachmentFileRecord {
  name: string;
  type: number;
  content: Buffer;
  /** Data bytes sent, repeated bytes included. */
  sentBytes: number;
  /** Number of times that the platform requested missing ranges. */
  resends: number;
  /** True once 0x9212 has confirmed the file. */
  isAcknowledged: boolean;
}

/** Upload that one 0x9208 started. */
export interface AttachmentUploadRecord {
  alarmNo: string;
  server: { host: string; port: number };
  files: AttachmentFileRecord[];
  /** Number of connections. */
  attempts: number;
  state: 'sending' | 'completed' | 'failed';
  error: string | null;
}

interface ByteRange {
  offset: number;
  length: number;
}

const defaultChunkBytes = 64 * 1024;
const maxRounds = 100;

/** The platform rejected the upload; a terminal does not retry. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** A fault injected by the options. */
class FaultError extends Error {
  override readonly name = 'FaultError';
}

/** Sends the files of one alarm, over as many connections as needed (T/JSATL 12-2017 chapter 4.5). */
export class AttachmentJob {
  readonly record: AttachmentUploadRecord;
  readonly #tag: AlarmTag;
  readonly #options: ResolvedOptions;
  readonly #faults: AttachmentFault[];
  readonly #encoder: MessageEncoder;
  readonly #abort = new AbortController();
  /** Unsent ranges of each file. */
  readonly #unsentRanges = new Map<string, ByteRange[]>();
  #link: AttachmentLink | null = null;
  #sentOnLink = 0;

  constructor(record: AttachmentUploadRecord, tag: Buffer, options: ResolvedOptions, faults: AttachmentFault[]) {
    this.record = record;
    this.#tag = readAlarmTag(tag);
    this.#options = options;
    this.#faults = faults;
    this.#encoder = new MessageEncoder(options.phone, options.edition);
  }

  /** Ends the upload without notifying the platform. */
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
    const isRetry = record.attempts > 0;
    record.attempts += 1;
    const link = await AttachmentLink.open(record.server, this.#encoder);
    this.#link = link;
    this.#sentOnLink = 0;
    try {
      if (this.#abort.signal.aborted) throw new RefusedError('stopped');
      await this.#sendList(link, isRetry);
      for (const file of record.files) if (!file.isAcknowledged) await this.#sendFile(link, file, isRetry);
      link.end('finish');
    } catch (error) {
      // An injected fault has already closed the connection in its own way.
      if (!(error instanceof FaultError)) link.destroy();
      throw error;
    } finally {
      this.#link = null;
    }
  }

  async #sendList(link: AttachmentLink, isRetry: boolean): Promise<void> {
    const { alarmNo, files } = this.record;
    const body = {
      terminalIdLength: this.#tag.terminalIdLength ?? 7,
      terminalId: this.#tag.terminalId,
      tag: this.#tag,
      alarmNo,
      infoType: isRetry ? 1 : 0,
      files: files.map(({ name, content }) => ({ name, size: content.length })),
    };
    const result = await link.sendAndConfirm(createMessage(alarmAttachmentInfo, body, this.#options.edition));
    if (result !== 0) throw new RefusedError(`the platform responded to 0x1210 with result ${result}`);
  }

  async #sendFile(link: AttachmentLink, file: AttachmentFileRecord, isRetry: boolean): Promise<void> {
    const { attachmentResume = 'rest', attachmentSkipsInfo = false, edition } = this.#options;
    const { name, type, content } = file;
    const fileInfo = { name, type, size: content.length };
    if (!attachmentSkipsInfo) {
      const result = await link.sendAndConfirm(createMessage(attachmentFileInfo, fileInfo, edition));
      if (result !== 0) throw new RefusedError(`the platform responded to 0x1211 with result ${result}`);
    }
    const unsentRanges = isRetry && attachmentResume === 'rest' ? this.#unsentRanges.get(name) : undefined;
    let ranges = unsentRanges ?? this.#initialRanges(file);
    for (let round = 0; round < maxRounds; round += 1) {
      await this.#sendRanges(link, file, ranges);
      ranges = await this.#sendComplete(link, file, fileInfo);
      if (file.isAcknowledged) return;
    }
    throw new RefusedError(`the platform never confirmed ${name}`);
  }

  /** Sends 0x1212 and returns the ranges to send again. */
  async #sendComplete(
    link: AttachmentLink,
    file: AttachmentFileRecord,
    fileInfo: { name: string; type: number; size: number },
  ) {
    const message = createMessage(attachmentUploadComplete, fileInfo, this.#options.edition);
    const repetitions = this.#options.attachmentRepeatsComplete === true ? 2 : 1;
    for (let repetition = 0; repetition < repetitions; repetition += 1) link.send(message);
    let missing: ByteRange[] = [];
    for (let time = 0; time < repetitions; time += 1) {
      const response = await link.waitForResponse(attachmentUploadCompleteResponse.id, 0x8001);
      if (response.messageId === 0x8001) throw new RefusedError('the platform rejected 0x1212');
      const { result, retransmit } = decodeBody(attachmentUploadCompleteResponse, response.body);
      file.isAcknowledged = result === 0;
      missing = retransmit;
    }
    if (!file.isAcknowledged) file.resends += 1;
    return missing;
  }

  /** Returns the chunks of a file in the order of the first transmission. */
  #initialRanges({ content }: AttachmentFileRecord): ByteRange[] {
    const { attachmentChunkBytes = defaultChunkBytes, attachmentLostChunks = [], attachmentOrder } = this.#options;
    const chunks: ByteRange[] = [];
    for (let offset = 0; offset < content.length; offset += attachmentChunkBytes)
      chunks.push({ offset, length: Math.min(attachmentChunkBytes, content.length - offset) });
    const remainingChunks = chunks.filter((_chunk, index) => !attachmentLostChunks.includes(index));
    if (attachmentOrder === 'reversed') return remainingChunks.toReversed();
    return attachmentOrder === 'twice' ? remainingChunks.flatMap((chunk) => [chunk, chunk]) : remainingChunks;
  }

  async #sendRanges(link: AttachmentLink, file: AttachmentFileRecord, ranges: readonly ByteRange[]): Promise<void> {
    const { attachmentChunkBytes = defaultChunkBytes, attachmentBytesPerSecond } = this.#options;
    const remaining = [...ranges];
    this.#unsentRanges.set(file.name, remaining);
    for (let next = remaining[0]; next !== undefined; next = remaining[0]) {
      const length = Math.min(next.length, attachmentChunkBytes);
      const data = file.content.subarray(next.offset, next.offset + length);
      await this.#sendPacket(link, file, next.offset, data);
      // Written bytes count as sent, since a terminal cannot know more.
      if (length < next.length) remaining[0] = { offset: next.offset + length, length: next.length - length };
      else remaining.shift();
      if (attachmentBytesPerSecond !== undefined)
        await delay((length / attachmentBytesPerSecond) * 1_000, undefined, { signal: this.#abort.signal });
    }
  }

  async #sendPacket(link: AttachmentLink, file: AttachmentFileRecord, offset: number, data: Buffer): Promise<void> {
    const packet = encodeAttachmentPacket(file.name, offset, data);
    const [fault] = this.#faults;
    if (fault !== undefined && this.#sentOnLink + data.length > fault.afterBytes) {
      await this.#injectFault(link, fault, packet.subarray(0, packet.length - Math.ceil(data.length / 2)));
    }
    await link.sendRaw(packet);
    file.sentBytes += data.length;
    this.#sentOnLink += data.length;
  }

  /** Sends half a packet and ends the connection. */
  async #injectFault(link: AttachmentLink, fault: AttachmentFault, half: Buffer): Promise<never> {
    const times = (fault.times ?? 1) - 1;
    this.#faults.splice(0, 1, ...(times > 0 ? [{ ...fault, times }] : []));
    await link.sendRaw(half);
    link.end(fault.how);
    throw new FaultError(`injected fault: ${fault.how}`);
  }
}
