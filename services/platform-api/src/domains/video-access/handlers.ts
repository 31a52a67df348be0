import { authorizeVideo as authorizeRequest, type Bus, serveUseCase } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { authorizeVideo, type VideoAccessDeps } from './use-cases.ts';

/** Serves `platform-api.authorize-video`. */
export const serveVideoAccess = (bus: Bus, deps: VideoAccessDeps, onError: (error: unknown) => void): Running =>
  serveUseCase(bus, authorizeRequest, { queue: 'platform-api', onError }, (request) => authorizeVideo(deps, request));
