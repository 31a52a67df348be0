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

/** Converts uploads for the caller, with URLs and the names of the users who requested them. */
export async function toDownloadResponses(
  deps: ResponseDeps,
  caller: Caller,
  downloads: readonly Download[],
): Promise<DownloadResponse[]> {
  const nameOf = await createUserNaming(deps.records, caller, downloads.map(requesterOf));
  const urlOf = mediaUrlBuilder(deps, caller.userId);
  return downloads.map((download) => ({
    ...withUrls(toDownloadEvent(download), urlOf),
    requested_by_name: nameOf(requesterOf(download)),
  }));
}

/** The same for one upload. */
export async function toNamedDownload(
  deps: ResponseDeps,
  caller: Caller,
  download: Download,
): Promise<DownloadResponse> {
  const [response] = await toDownloadResponses(deps, caller, [download]);
  return response ?? toDownloadEvent(download);
}
