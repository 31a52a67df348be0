import { readDemo } from './demo.ts';
import { createReverseProxy } from './proxy.ts';

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') {
    console.error(`${name} is not set`);
    process.exit(1);
  }
  return value;
}

const targets = { deviceApi: setting('DEVICE_API_URL'), platformApi: setting('PLATFORM_API_URL') };
const report = (line: string): void => console.log(`${new Date().toISOString()} ${line}`);
const server = createReverseProxy(targets, report, readDemo(process.env, targets.platformApi));
server.listen(Number(setting('HTTP_PORT')), setting('HOST'));
// For installations without another proxy in front of the video service.
const videoService = process.env['VIDEO_SERVICE_URL'];
if (videoService !== undefined) {
  const videoTargets = { deviceApi: videoService, platformApi: videoService };
  createReverseProxy(videoTargets, report).listen(Number(setting('VIDEO_HTTP_PORT')), setting('HOST'));
}
// The process has no state beyond its connections, and open streams would delay a graceful close indefinitely.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0));
