import type { AdditionalItem, alarmAttachmentUpload, BodyOf, LocationReport } from '@fleet/jt808';
import type { ReportRecord } from '../location-journal.ts';
import { pushBounded } from '../media/stream-record.ts';
import type { ResolvedOptions } from '../terminal-options.ts';
import { AttachmentJob, type AttachmentUploadRecord } from './attachment-job.ts';
import type { AttachmentFault } from './attachment-options.ts';
import { buildFileNames, createSafetyItem, type SafetyAlarm } from './safety-alarms.ts';

/** An alarm of active safety that was raised. */
export interface SafetyAlarmRecord {
  readonly alarm: SafetyAlarm;
  readonly tag: Buffer;
  readonly report: ReportRecord;
  /** What became of each 0x9208 for it. */
  readonly uploads: AttachmentUploadRecord[];
}

/** What attachments need of their terminal. */
export interface AttachmentDeps {
  location(): LocationReport & { time: string };
  report(extras: readonly AdditionalItem[]): ReportRecord;
}

const terminalIdBytes = 7;

/** Alarms of a terminal and their files, which it sends when it is asked for them. Sending outlives the connection to the platform. */
export class Attachments {
  /** Alarms so far, oldest first (bounded by `logLimit`). */
  readonly alarms: SafetyAlarmRecord[] = [];
  /** Accidents to come; may be added to at any time. */
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

  /** Raises an alarm and reports at once. */
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

  /** 0x9208: what is to be done once it is answered, or null where there is no such alarm. */
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

  /** Ends what is being sent. */
  close(): void {
    for (const job of this.#jobs.values()) job.stop();
  }

  async #send(
    { alarm, tag, uploads }: SafetyAlarmRecord,
    alarmNo: string,
    server: { host: string; port: number },
  ): Promise<void> {
    // Asked again meanwhile: it is on its way.
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
