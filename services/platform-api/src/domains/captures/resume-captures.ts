import type { Deps } from '../../platform/deps.ts';
import { createClaim } from './claim.ts';
import { type RunDeps, runCapture } from './run-capture.ts';
import type { Capture } from './schema.ts';
import { changeCapture, listOverdueCaptures, takeOverCapture } from './store.ts';

const batchSize = 50;

/** Continues captures whose process has died, and expires those whose files did not arrive in time. */
export async function resumeCaptures(deps: RunDeps & Pick<Deps, 'log'>, now = new Date()): Promise<void> {
  const overdue = await listOverdueCaptures(deps.records, now, batchSize);
  for (const capture of overdue) await resume(deps, capture, now);
}

async function resume(deps: RunDeps, capture: Capture, now: Date): Promise<void> {
  if (capture.expiresAt <= now) {
    await changeCapture(deps.records, capture, ({ status, expiresAt }) =>
      status === 'pending' && expiresAt <= now ? { status: 'expired', completedAt: now } : null,
    );
    return;
  }
  const taken = await takeOverCapture(deps.records, capture, { ...createClaim(), now });
  if (taken === null) return;
  deps.log.info({ captureId: taken.captureId, step: taken.step }, 'continuing a capture whose process died');
  // Not awaited: each takes as long as its terminal needs.
  void runCapture(deps, taken, { correlationId: taken.captureId }, { isRepeated: true }).catch((error: unknown) =>
    deps.log.warn({ err: error, captureId: taken.captureId }, 'a capture was interrupted again'),
  );
}
