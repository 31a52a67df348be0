import { createHash } from 'node:crypto';
import { readTelemetryBatch, type TelemetryReport } from '@fleet/bus';
import { connect } from 'nats';
import type { World } from './world.ts';

/** Whole reports of one message: 0x0200 is one, 0x0704 holds some, each behind its length (JT/T 808-2013 tables 76 and 77). */
function bodiesOf({ messageId, body }: TelemetryReport): Buffer[] {
  if (messageId === 0x0200) return [body];
  const bodies: Buffer[] = [];
  for (let at = 3; at + 2 <= body.length; ) {
    const length = body.readUInt16BE(at);
    bodies.push(body.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return bodies;
}

/** Name of a report wherever it turns up: the terminal's number and the SHA-256 of the body. */
export const reportName = (phone: string, sha256: string): string => `${phone}/${sha256}`;

/** Names of all reports that JetStream holds. */
export async function storedReports(world: World): Promise<Set<string>> {
  const nc = await connect({ servers: new URL(world.product.runtime.backends.nats_url).host });
  try {
    const stream = await nc.jetstream().streams.get('TELEMETRY');
    const { first_seq: first, last_seq: last } = (await stream.info()).state;
    const names = new Set<string>();
    for (let seq = first; seq <= last; seq += 1) {
      const { data } = await stream.getMessage({ seq });
      for (const report of readTelemetryBatch(data)) {
        for (const body of bodiesOf(report))
          names.add(reportName(report.phone, createHash('sha256').update(body).digest('hex')));
      }
    }
    return names;
  } finally {
    await nc.close();
  }
}
