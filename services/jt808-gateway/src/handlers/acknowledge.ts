import type { Frame } from '@fleet/jt808';
import type { Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';

/** Results of the platform general response, 0x8001. */
export const Result = { success: 0, failure: 1, incorrect: 2, unsupported: 3 } as const;

/** Sends 0x8001 for a message of a session. */
export function acknowledge(metrics: GatewayMetrics, session: Session, frame: Frame, result: number): void {
  metrics.hot.framesOut += 1;
  session.connection.reply(session.address, frame.serial, frame.messageId, result);
}
