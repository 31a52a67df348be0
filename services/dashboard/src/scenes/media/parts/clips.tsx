import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Download } from '../../../common/downloads/download.ts';
import { DownloadRow } from '../../../common/downloads/download-row.tsx';
import { useDownloads } from '../../../common/downloads/queries.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import type { MediaSearch } from '../search.ts';
import { DeleteButton } from './file-actions.tsx';
import { Viewer } from './viewer.tsx';

interface ClipsProps {
  readonly search: MediaSearch;
  readonly renderPages: (total: number) => ReactNode;
}

/** Shows the clips that were requested from cameras, with their progress. */
export function Clips({ search, renderPages }: ClipsProps) {
  const { t } = useTranslation('media');
  const downloads = useDownloads(search);
  const [opened, setOpened] = useState<number | null>(null);
  if (downloads.isPending) return <Loading />;
  if (downloads.isError) return <Failure error={downloads.error} onRetry={() => void downloads.refetch()} />;
  const { data, meta } = downloads.data;
  if (data.length === 0) return <Empty title={t(search.status === undefined ? 'noClips' : 'noMatch')} />;
  const clip = data.find(({ id }) => id === opened);
  return (
    <>
      <ul className="row-list media-clips" aria-label={t('kinds.clips')}>
        {data.map((download) => (
          <ClipRow key={download.id} download={download} onOpen={() => setOpened(download.id)} />
        ))}
      </ul>
      {renderPages(meta.pagination.total)}
      {clip?.mp4?.url == null ? null : (
        <Viewer kind="video" url={clip.mp4.url} title={clip.vehicle_no} onClose={() => setOpened(null)} />
      )}
    </>
  );
}

function ClipRow({ download, onOpen }: { download: Download; onOpen: () => void }) {
  const { t } = useTranslation('media');
  const format = useFormat();
  const startMs = Date.parse(download.video_start_time);
  const name = t('clipName', { vehicle: download.vehicle_no, channel: download.channel, time: format.exact(startMs) });
  const day = `/vehicles/${download.vehicle_id}/day/clip?t=${Math.floor(startMs / 1_000)}&ch=${download.channel}`;
  return (
    <li aria-label={name}>
      <Thumbnail url={download.thumbnail_url} alt={t('thumbnail', { name })} />
      <span>
        <Link to={day}>{name}</Link>
        {download.requested_by_name == null ? null : (
          <small>{t('requestedBy', { name: download.requested_by_name })}</small>
        )}
      </span>
      <DownloadRow download={download}>
        {download.mp4?.status === 'completed' ? (
          <button type="button" className="media-link" onClick={onOpen}>
            {t('watch')}
          </button>
        ) : null}
        {download.media_id === null ? null : <DeleteButton id={download.media_id} name={name} />}
      </DownloadRow>
    </li>
  );
}

function Thumbnail({ url, alt }: { url: string | null; alt: string }) {
  return url === null ? <span className="media-thumbnail" /> : <img className="media-thumbnail" src={url} alt={alt} />;
}
