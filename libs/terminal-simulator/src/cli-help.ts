import { builtInTracks } from './built-in-tracks.ts';
import { alarmHelp } from './cli-alarm-options.ts';
import { uploadHelp } from './cli-upload-options.ts';

const programName = 'node libs/terminal-simulator/dist/cli.js';

/** Text of --help. */
export const helpText = `Simulated JT/T 808 terminals with JT/T 1078 cameras.

  simulator fleet    --host H --port P [--terminals 3] [--channels 2] [--phones N,N,...] [--report-file FILE]
                     [--control-port P]
  simulator terminal --host H --port P --phone NUMBER [--edition 2011|2013|2019] [--behaviour NAME]
  simulator load     --host H --port P [--terminals 5000] [--interval 30s]

All:
  --host H            platform's address (127.0.0.1)          --port P   its JT/T 808 port (7808)
  --help              this text
fleet and terminal:
  --channels N        cameras of each terminal (2)            --interval T       a location each T (10s)
  --video h264|h265   --audio g711a|g711u|g726|adpcm|aac|aac-raw|none
  --media-host H      stream to H instead of the host in the request
  --recordings N      one-minute recordings on each camera's disk at the start (60); the cameras then
                      record continuously and retain one day. 0: no recordings
  --list-chunk N      send lists of recordings in several whole messages of N items
  --cache-dir DIR     directory of generated clips (.cache/clips)
${uploadHelp}
${alarmHelp}
fleet:
  --terminals N       vehicles (3); every third is of edition 2019, the others of 2013
  --phones A,B        terminal numbers, instead of 013800138001 ...
  --report-file FILE  written once all are online: [{"imei","edition","channels"}]
  --control-port P    HTTP on loopback: GET /terminals, POST /terminals/NUMBER/ACTION (see the README)
terminal:
  --phone NUMBER      12 or 20 digits                         --track NAME       ${Object.keys(builtInTracks).join(', ')}
  --behaviour NAME    normal, sleeping, silent, mute, slow, refusing, twice, wrongSerial,
                      badChecksum, noise, halfGlued, cutBody, disconnecting, neverReading, halfOpen
  --delay T           of slow (5s)                            --result 1|2|3     of refusing (1)
  --wake-after N      attempts after which a sleeping terminal wakes (3), or
  --wake-time T       delay from the first attempt            --catch-up         respond to queued messages
load:
  --terminals N       (1000)                                  --connect-rate N   new connections per second (500)
  --edition E         (2013)                                  --first-phone N    number of the first (019000000000)

Examples:
  ${programName} fleet --port 7808 --terminals 3 --report-file fleet.json
  ${programName} terminal --port 7808 --phone 013800138009 --behaviour slow --delay 20s
  ${programName} load --port 7808 --terminals 5000 --interval 30s

Ctrl-C stops. ffmpeg (FFMPEG_PATH or the PATH) generates the clips once; they are then cached.`;
