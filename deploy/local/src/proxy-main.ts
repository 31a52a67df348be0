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
const server = createReverseProxy(targets, (line) => console.log(`${new Date().toISOString()} ${line}`));
server.listen(Number(setting('HTTP_PORT')), setting('HOST'));
// Nothing here outlives its connections, and a stream would never let the server close by itself.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0));
