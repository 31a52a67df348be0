import type { Route } from '@fleet/service-kit';
import type { Deps } from '../deps.ts';
import { health } from './health.ts';
import { healthCamera } from './health-camera.ts';
import { healthDevice } from './health-device.ts';
import { historyControlStream } from './history-control-stream.ts';
import { historyListVideos } from './history-list-videos.ts';
import { historyStartStream } from './history-start-stream.ts';
import { historyStreamFlv } from './history-stream-flv.ts';
import { realtimeControlStream } from './realtime-control-stream.ts';
import { realtimeStartStream } from './realtime-start-stream.ts';
import { realtimeStreamFlv } from './realtime-stream-flv.ts';
import { sendControlCommand } from './send-control-command.ts';
import { sendText } from './send-text.ts';
import { videosControl } from './videos-control.ts';
import { videosDelete } from './videos-delete.ts';
import { videosFile } from './videos-file.ts';
import { videosGet } from './videos-get.ts';
import { videosList } from './videos-list.ts';
import { videosUpload } from './videos-upload.ts';
import { wakeup } from './wakeup.ts';

/** Returns the route table of the Device API, below `/api/v1`. */
export const deviceApiRoutes = (deps: Deps): Route[] => [
  health(deps),
  healthCamera(deps),
  healthDevice(deps),
  sendControlCommand(deps),
  sendText(deps),
  wakeup(deps),
  realtimeStartStream(deps),
  realtimeStreamFlv(deps),
  realtimeControlStream(deps),
  videosUpload(deps),
  videosGet(deps),
  videosDelete(deps),
  videosControl(deps),
  videosList(deps),
  videosFile(deps),
  historyListVideos(deps),
  historyStartStream(deps),
  historyStreamFlv(deps),
  historyControlStream(deps),
];
