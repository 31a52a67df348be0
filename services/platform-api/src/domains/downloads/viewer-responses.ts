import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { mediaUrlBuilder } from '../media/urls.ts';
import { createUserNaming } from '../users/use-cases.ts';
import { type Download, toDownloadEvent, withUrls } from './responses.ts';
import type { DownloadResponse } from './schema.ts';

type ResponseDeps = Pick<Deps, 'config' | 'records'>;

const requesterOf = ({ upload, vehicle }: Download) => ({
  accountId: upload.accountId ?? vehicle.accountId,
  userId: upload.requestedBy ?? null,
});

/** Returns a function that converts these uploads for the caller, with URLs and the names of the requesting users. */
async function createConverter(deps: ResponseDeps, caller: Caller, downloads: readonly Download[]) {
  const nameOf = await createUserNaming(deps.records, caller, downloads.map(requesterOf));
  const urlOf = mediaUrlBuilder(deps, caller.userId);
  return (download: Download): DownloadResponse => ({
    ...withUrls(toDownloadEvent(download), urlOf),
    requested_by_name: nameOf(requesterOf(download)),
  });
}

/** Converts uploads for the caller. */
export const toDownloadResponses = async (
  deps: ResponseDeps,
  caller: Caller,
  downloads: readonly Download[],
): Promise<DownloadResponse[]> => downloads.map(await createConverter(deps, caller, downloads));

/** Converts an upload for the caller. */
export const toDownloadResponse = async (
  deps: ResponseDeps,
  caller: Caller,
  download: Download,
): Promise<DownloadResponse> => (await createConverter(deps, caller, [download]))(download);
