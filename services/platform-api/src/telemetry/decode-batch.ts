import { readTelemetryBatch, type StreamMessage } from '@fleet/bus';
import type { TraceContext } from '@fleet/service-kit';
import { type Decoded, decodeReport } from './decode-report.ts';

/** A report or a heartbeat, and its message. */
export interface ReceivedReport {
  readonly report: Decoded;
  readonly seq: number;
  /** Trace of its message. */
  readonly trace?: TraceContext | undefined;
}

/** Returns the reports of some messages; invalid ones are skipped and reported to `onFault`. */
export function decodeBatch(messages: readonly StreamMessage[], onFault: (fault: string) => void): ReceivedReport[] {
  const reports: ReceivedReport[] = [];
  for (const { data, sequence: seq, trace } of messages) {
    try {
      for (const report of readTelemetryBatch(data))
        for (const decoded of decodeReport(report, onFault)) reports.push({ report: decoded, seq, trace });
    } catch (error) {
      // An invalid batch would stop the partition forever.
      onFault(`a batch: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return reports;
}
