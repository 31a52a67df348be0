import type { Reassembler } from '@fleet/jt808';
import type { Devices } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { createRetransmitRequest } from './multimedia.ts';

/** Requests the missing parts of split messages and counts abandoned ones. Call it about once a second. */
export function requestMissingSubpackages(reassembler: Reassembler, devices: Devices, metrics: GatewayMetrics): void {
  for (const event of reassembler.poll()) {
    if (event.kind === 'expired') {
      metrics.droppedMessages.inc({ kind: 'expiredTransfer' });
      continue;
    }
    const session = devices.get(event.terminal)?.session;
    if (session === undefined || session === null) continue;
    const { edition, address, multimediaId, connection } = session;
    const request = createRetransmitRequest({ ...event, edition, address, multimediaId });
    if (request !== null) connection.send(request(connection.nextSerial()));
  }
}
