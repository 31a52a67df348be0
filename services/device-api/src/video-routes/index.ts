import type { Route } from '@fleet/service-kit';
import type { Deps } from '../deps.ts';
import { guestStreams } from './guest-streams.ts';
import { historyControl } from './history-control.ts';
import { historyStart } from './history-start.ts';
import { hlsFile, playlist } from './hls.ts';
import { mediaCapture } from './media-capture.ts';
import { ping } from './ping.ts';
import { resourceList } from './resource-list.ts';
import { start } from './start.ts';
import { streamFlv } from './stream-flv.ts';
import { talk } from './talk.ts';
import { upload } from './upload.ts';
import { wakeup } from './wakeup.ts';

/** Returns the route table of the video service. */
export const videoRoutes = (deps: Deps): Route[] => [
  start(deps),
  wakeup(deps),
  streamFlv(deps),
  playlist(deps),
  hlsFile(deps),
  ...guestStreams(deps),
  talk(deps),
  ping(deps),
  upload(deps),
  resourceList(deps),
  historyStart(deps),
  historyControl(deps),
  mediaCapture(deps),
];
