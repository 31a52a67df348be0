import { createHash } from 'node:crypto';
import { readTelemetryBatch, type TelemetryReport } from '@fleet/bus';
import { connect } from 'nats';
import type { ProductHarness } from './harness.ts';

/**
 * Returns the complete reports of one message: 0x0200 is one, 0x0704 contains several, each preceded by its length
 * (JT/T 808-2013 tables 76 and 77).
 */
function decodeBodies({ messageId, body }: TelemetryReport): Buffer[] {
  if (messageId === 0x0200) return [body];
  const bodies: Buffer[] = [];
  for (let offset = 3; offset + 2 <= body.length; ) {
    const length = body.readUInt16BE(offset);
    bodies.push(body.subarray(offset + 2, offset + 2 + length));
    offset += 2 + length;
  }
  return bodies;
}

/** Formats the name of a report: the terminal's number and the SHA-256 of the body. */
export const formatReportName = (phone: string, sha256: string): string => `${phone}/${sha256}`;

/** Returns the names of all reports that JetStream holds. */
export async function readStoredReports(harness: ProductHarness): Promise<Set<string>> {
  const servers = harness.product.runtime.backends.nats_url.split(',').map((url) => new URL(url).host);
  const nc = await connect({ servers });
  try {
    const stream = await nc.jetstream().streams.get('TELEMETRY');
    const { first_seq: first, last_seq: last } = (await stream.info()).state;
    const names = new Set<string>();
    for (let seq = first; seq <= last; seq += 1) {
      const { data } = await stream.getMessage({ seq });
      for (const report of readTelemetryBatch(data)) {
        for (const body of decodeBodies(report))
          names.add(formatReportName(report.phone, createHash('sha256').update(body).digest('hex')));
      }
    }
    return names;
  } finally {
    await nc.close();
  }
}
