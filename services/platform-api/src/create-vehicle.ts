import { parseArgs } from 'node:util';
import { terminalKey } from '@fleet/jt808';
import { runTool } from './assembly/command-line.ts';
import { normalEmail } from './domains/users/rules.ts';
import { findByEmail } from './domains/users/use-cases.ts';
import { cameraUtcOffsetPattern } from './domains/vehicles/schema.ts';
import { ensureVehicle } from './domains/vehicles/use-cases.ts';

const usage = `usage: node create-vehicle.js --owner NAME@HOST --vehicle-no TEXT --imei NUMBER [--camera-utc-offset +08:00]
(the database is that of MONGODB_URL)`;

await runTool(async (records) => {
  const { values } = parseArgs({
    options: {
      owner: { type: 'string' },
      'vehicle-no': { type: 'string' },
      imei: { type: 'string' },
      'camera-utc-offset': { type: 'string' },
    },
  });
  const { owner, 'vehicle-no': vehicleNo, imei, 'camera-utc-offset': cameraUtcOffset } = values;
  if (owner === undefined || vehicleNo === undefined || imei === undefined) throw new Error(usage);
  if (terminalKey(imei) === null) throw new Error(`${imei} is not a terminal number.`);
  if (cameraUtcOffset !== undefined && !new RegExp(cameraUtcOffsetPattern).test(cameraUtcOffset))
    throw new Error(`${cameraUtcOffset} is not an offset such as +08:00.`);
  const user = await findByEmail(records, normalEmail(owner));
  if (user === null) throw new Error(`${owner} is not the e-mail address of a user.`);
  const { record, created } = await ensureVehicle(records, {
    accountId: user.accountId,
    ownerUserId: user._id,
    vehicleNo,
    imei,
    ...(cameraUtcOffset === undefined ? {} : { cameraUtcOffset }),
  });
  if (!created) throw new Error(`Terminal ${imei} belongs to another vehicle; nothing was changed.`);
  return `vehicle ${record._id}: ${record.vehicleNo}, terminal ${record.recordedImei}`;
});
