import { Group } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import { type MediaFile, useFiles } from '../queries.ts';
import { DeleteButton, ProtectButton } from './file-actions.tsx';
import { Viewer } from './viewer.tsx';

interface FilesProps {
  readonly vehicleId: number;
  readonly kind: 'image' | 'video';
  readonly page: number;
  readonly renderPages: (total: number) => ReactNode;
}

/** Shows the pictures or videos of a vehicle with thumbnails. A click opens the viewer. */
export function Files({ vehicleId, kind, page, renderPages }: FilesProps) {
  const { t } = useTranslation('media');
  const format = useFormat();
  const files = useFiles(vehicleId, kind, page);
  const [openedId, setOpenedId] = useState<number | null>(null);
  if (files.isPending) return <Loading />;
  if (files.isError) return <Failure error={files.error} onRetry={() => void files.refetch()} />;
  const { data, meta } = files.data;
  if (data.length === 0) return <Empty title={t('noFiles')} />;
  const nameOf = ({ channel_id: channel, taken_at: takenAt }: MediaFile): string =>
    t('fileName', { channel, time: format.exact(Date.parse(takenAt)) });
  const opened = data.find(({ id }) => id === openedId);
  return (
    <>
      <ul className="media-grid" aria-label={t(kind === 'image' ? 'kinds.pictures' : 'kinds.videos')}>
        {data.map((file) => (
          <li key={file.id} className="card" aria-label={nameOf(file)}>
            <button type="button" className="media-open" onClick={() => setOpenedId(file.id)}>
              {file.thumbnail_url === null ? (
                <span className="media-thumbnail" />
              ) : (
                <img className="media-thumbnail" src={file.thumbnail_url} alt="" />
              )}
              <span>{nameOf(file)}</span>
            </button>
            <Group gap={6}>
              <a className="media-link" href={`${file.url}&download=1`} download>
                {t('download')}
              </a>
              <ProtectButton file={file} />
              {file.protected ? null : <DeleteButton id={file.id} name={nameOf(file)} />}
            </Group>
          </li>
        ))}
      </ul>
      {renderPages(meta.pagination.total)}
      {opened === undefined ? null : (
        <Viewer
          kind={kind}
          url={opened.video_id === null ? opened.url : `${opened.url}&format=mp4`}
          title={nameOf(opened)}
          onClose={() => setOpenedId(null)}
        />
      )}
    </>
  );
}
