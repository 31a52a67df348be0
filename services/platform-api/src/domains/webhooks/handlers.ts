import { type Bus, notifyWebhookOwner, serve } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { type NoticeDeps, notifyOwner } from './owner-notices.ts';

/** Serves the requests of webhook-dispatcher that notify the owners of webhooks. */
export const serveWebhooks = (bus: Bus, deps: NoticeDeps, onError: (error: unknown) => void): Running[] => [
  serve(bus, notifyWebhookOwner, { queue: 'platform-api', onError }, async (notice) => ({
    told: await notifyOwner(deps, notice),
  })),
];
