import type { Route } from '@fleet/service-kit';
import type { Deps } from '../deps.ts';
import { ping } from './ping.ts';
import { start } from './start.ts';
import { streamFlv } from './stream-flv.ts';
import { wakeup } from './wakeup.ts';

/** The route table of the video service. */
export const videoRoutes = (deps: Deps): Route[] => [start(deps), wakeup(deps), streamFlv(deps), ping(deps)];
