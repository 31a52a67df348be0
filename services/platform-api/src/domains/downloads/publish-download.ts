import { UploadList } from '@fleet/storage';
import { publishLive } from '../../event-consumers/publish-live.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { toDownloadEvent } from './responses.ts';
import { joinDownload } from './use-cases.ts';

/**
 * Publishes the state of an upload to websockets. Publishes nothing for an upload that was deleted, or that another
 * account requested while it owned the terminal.
 */
export async function publishDownload(
  { bus, database, records }: Pick<Deps, 'bus' | 'database' | 'records'>,
  uploadId: string,
  vehicle: Vehicle,
): Promise<void> {
  const upload = await new UploadList(database).findListed(uploadId);
  if (upload === null || (upload.accountId ?? vehicle.accountId) !== vehicle.accountId) return;
  const data = { ...toDownloadEvent(await joinDownload({ records }, vehicle, upload)) };
  publishLive(bus, vehicle.accountId, [{ type: 'upload', vehicleId: vehicle._id, data }]);
}
