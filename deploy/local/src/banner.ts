import type { Runtime } from './runtime-file.ts';

/** Returns commands that can be run unchanged for the product that `runtime` describes. */
export function exampleCommands(runtime: Runtime): { title: string; command: string }[] {
  const api = `${runtime.base_url}/api/v1`;
  const key = runtime.device_api.auth === 'key' ? `-H 'x-api-key: ${runtime.device_api.api_key}' ` : '';
  const get = (path: string): string => `curl -sS ${key}'${api}${path}'`;
  const imei = runtime.simulated_terminals[0]?.imei ?? '<terminal number>';
  const camera = `imei=${imei}&channel=1`;
  const states = runtime.simulated_terminals.map((terminal) => get(`/health/device?imei=${terminal.imei}`));
  return [
    { title: 'Health of the components', command: get('/health') },
    {
      title: 'Which devices are connected',
      command: states.length === 0 ? get('/health/device?imei=' + imei) : states.join('; echo; '),
    },
    { title: 'Start live video of a camera', command: get(`/realtime/start-stream?${camera}`) },
    {
      title: 'Save five seconds of it',
      // Silent, because curl reports the intended end after five seconds as a time-out.
      command: `curl -s --max-time 5 -o live.flv ${key}'${api}/realtime/stream.flv?${camera}'; ls -l live.flv`,
    },
    {
      title: 'Or watch it (ffplay comes with ffmpeg)',
      command: `${get(`/realtime/stream.flv?${camera}`)} | ffplay -loglevel warning -i -`,
    },
    { title: 'Wake a device up', command: get(`/wakeup?imei=${imei}`) },
  ];
}

/** Returns the output of a start when everything is ready. */
export function banner(runtime: Runtime): string {
  const fleet = runtime.simulated_terminals.map(
    ({ imei, edition, channels }) => `    ${imei}  JT/T 808-${edition}, ${channels} cameras`,
  );
  const auth =
    runtime.device_api.auth === 'key'
      ? 'required for every call'
      : 'not required, because everything is bound to loopback';
  const addresses = [
    ['Dashboard', runtime.base_url],
    ...(runtime.demo.sign_in_url === null ? [] : [['Signed in already', runtime.demo.sign_in_url]]),
    ['Device API', `${runtime.base_url}/api/v1`],
    ['Platform API', runtime.base_url],
    ['Video service', runtime.video_url],
    ['Terminals, JT/T 808', `${runtime.jt808.host}:${runtime.jt808.port}`],
    [
      'Cameras, JT/T 1078',
      `${runtime.jt1078.host}:${runtime.jt1078.live_port} live, ${runtime.jt1078.history_port} history, ${runtime.jt1078.talk_port} talk (TCP and UDP)`,
    ],
    ['FTP', `${runtime.ftp.host}:${runtime.ftp.port}`],
    ['Alarm attachments', `${runtime.attachments.host}:${runtime.attachments.port}`],
    ['API key', `${runtime.demo.api_key} (${auth})`],
    ['Demo account', `${runtime.demo.email}, password ${runtime.demo.password}`],
    ['For scripts', `${runtime.data_dir}/runtime.json; logs in ${runtime.data_dir}/logs`],
  ];
  return [
    '',
    'The product is running.',
    '',
    ...addresses.map(([name, value]) => `  ${name?.padEnd(20)} ${value}`),
    ...(fleet.length === 0 ? [] : ['', '  Simulated fleet', ...fleet]),
    '',
    'Commands to paste into another terminal:',
    ...exampleCommands(runtime).flatMap(({ title, command }) => ['', `  # ${title}`, `  ${command}`]),
    '',
    'Ctrl-C stops everything. The data is retained; npm run reset deletes it.',
    '',
  ].join('\n');
}
