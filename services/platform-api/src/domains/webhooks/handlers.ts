import { type Bus, notifyWebhookOwner, serve } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { type NoticeDeps, notifyOwner } from './notices.ts';

/** Serves `platform-api.tell-of-webhook`. */
export const serveWebhooks = (bus: Bus, deps: NoticeDeps, onError: (error: unknown) => void): Running[] => [
  serve(bus, notifyWebhookOwner, { queue: 'platform-api', onError }, async (notice) => ({
    told: await notifyOwner(deps, notice),
  })),
];
