import type { AdditionalItem, alarmAttachmentUpload, BodyOf, LocationReport } from '@fleet/jt808';
import type { ReportRecord } from '../location-journal.ts';
import { pushBounded } from '../media/stream-record.ts';
import type { ResolvedOptions } from '../terminal-options.ts';
import { AttachmentJob, type AttachmentUploadRecord } from './attachment-job.ts';
import type { AttachmentFault } from './attachment-options.ts';
import { buildFileNames, createSafetyItem, type SafetyAlarm } from './safety-alarms.ts';

/** A raised active-safety alarm. */
export interface SafetyAlarmRecord {
  readonly alarm: SafetyAlarm;
  readonly tag: Buffer;
  readonly report: ReportRecord;
  /** Uploads started by each 0x9208 for this alarm. */
  readonly uploads: AttachmentUploadRecord[];
}

/** Dependencies of attachments on their terminal. */
interface AttachmentDeps {
  location(): LocationReport & { time: string };
  report(extras: readonly AdditionalItem[]): ReportRecord;
}

const terminalIdBytes = 7;

/**
 * Holds the alarms of a terminal and their files, which it sends on request. An upload continues while the connection
 * to the platform is lost.
 */
export class Attachments {
  /** All alarms, oldest first (bounded by `logLimit`). */
  readonly alarms: SafetyAlarmRecord[] = [];
  /** Faults to inject; may be extended at any time. */
  readonly faults: AttachmentFault[];
  readonly #options: ResolvedOptions;
  readonly #deps: AttachmentDeps;
  readonly #jobs = new Map<string, AttachmentJob>();
  #nextId = 1;

  constructor(options: ResolvedOptions, deps: AttachmentDeps) {
    this.#options = options;
    this.#deps = deps;
    this.faults = [...(options.attachmentFaults ?? [])];
  }

  /** Raises an alarm and reports immediately. */
  raise(alarm: SafetyAlarm): SafetyAlarmRecord {
    const alarmId = this.#nextId;
    this.#nextId += 1;
    const terminalId = (this.#options.terminalId ?? this.#options.phone).slice(-terminalIdBytes);
    const identity = { alarmId, terminalId, seq: alarmId & 0xff };
    const { item, tag } = createSafetyItem(alarm, identity, this.#deps.location());
    const record = { alarm, tag, report: this.#deps.report([item]), uploads: [] };
    pushBounded(this.alarms, record, this.#options.logLimit);
    return record;
  }

  /** Handles 0x9208. Returns the action to run after the response, or null if no such alarm exists. */
  handleRequest({
    tag,
    alarmNo,
    serverIp,
    tcpPort,
  }: BodyOf<typeof alarmAttachmentUpload>): (() => Promise<void>) | null {
    const raw = tag.raw;
    const record = raw === undefined ? undefined : this.alarms.findLast((candidate) => candidate.tag.equals(raw));
    if (record === undefined) return null;
    return () => this.#send(record, alarmNo, { host: serverIp, port: tcpPort });
  }

  /** Stops all uploads. */
  close(): void {
    for (const job of this.#jobs.values()) job.stop();
  }

  async #send(
    { alarm, tag, uploads }: SafetyAlarmRecord,
    alarmNo: string,
    server: { host: string; port: number },
  ): Promise<void> {
    // A repeated request: the upload is already running.
    if (this.#jobs.has(alarmNo)) return;
    const names = buildFileNames(alarm, alarmNo);
    const files = (alarm.files ?? []).map(({ content, type }, index) => {
      const name = names[index] ?? '';
      return { name, type, content, sentBytes: 0, resends: 0, isAcknowledged: false };
    });
    const record: AttachmentUploadRecord = { alarmNo, server, files, attempts: 0, state: 'sending', error: null };
    uploads.push(record);
    const job = new AttachmentJob(record, tag, this.#options, this.faults);
    this.#jobs.set(alarmNo, job);
    await job.run();
    this.#jobs.delete(alarmNo);
    this.#options.onLog?.(
      `attachments of ${alarmNo} ${record.state}${record.error === null ? '' : `: ${record.error}`}`,
    );
  }
}
