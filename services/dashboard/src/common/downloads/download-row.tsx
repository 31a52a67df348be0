import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useCan } from '../session/session-context.ts';
import { Failure } from '../ui/states.tsx';
import type { Download } from './download.ts';
import { type DownloadAction, useControlDownload, useConvert } from './queries.ts';
import './download-row.css';

const bytesPerMegabyte = 1_000_000;

/** Returns a duration such as `0:40` in minutes and seconds. */
const formatSeconds = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.round(seconds) % 60).padStart(2, '0')}`;

const isRunning = ({ mp4 }: Download): boolean => mp4?.status === 'queued' || mp4?.status === 'running';

/** Shows the progress of an upload and of its conversion, and what can be done with it. */
export function DownloadRow({ download, children }: { download: Download; children?: ReactNode }) {
  const control = useControlDownload();
  const convert = useConvert();
  const failure = control.error ?? convert.error;
  return (
    <>
      <DownloadProgress download={download} />
      <Group gap={6} className="download-actions">
        <UploadButtons
          download={download}
          isBusy={control.isPending}
          onAction={(action) => control.mutate({ videoId: download.video_id, action })}
        />
        <FileButtons
          download={download}
          isBusy={convert.isPending}
          onConvert={(isWanted) => convert.mutate({ videoId: download.video_id, isWanted })}
        />
        {children}
      </Group>
      {failure === null ? null : <Failure error={failure} />}
    </>
  );
}

/** Returns the text of an upload's state: percent, time left, size, or the reason of a failure. */
function useProgressText(download: Download): string {
  const { t } = useTranslation();
  const { status, percent, seconds_left: secondsLeft, filesize, error, mp4 } = download;
  const size = t('download.megabytes', { size: (filesize / bytesPerMegabyte).toFixed(1) });
  const left = secondsLeft === null ? '' : t('download.left', { time: formatSeconds(secondsLeft) });
  const parts = {
    uploading: percent === null ? [size] : [`${percent} %`, left],
    paused: percent === null ? [size] : [`${percent} %`],
    completed: [size],
    failed: [error ?? ''],
    cancelled: [],
  }[status];
  const conversion =
    mp4 === null || mp4.status === 'canceled'
      ? ''
      : t(`download.mp4.${mp4.status}`, { percent: mp4.percent, reason: mp4.error ?? '' });
  return [t(`download.status.${status}`), ...parts, conversion].filter((part) => part !== '').join(', ');
}

function DownloadProgress({ download }: { download: Download }) {
  const { t } = useTranslation();
  const text = useProgressText(download);
  const { status, percent, mp4 } = download;
  const value = isRunning(download) ? mp4?.percent : percent;
  const hasBar = status === 'uploading' || status === 'paused' || isRunning(download);
  return (
    <span className="download-progress">
      {hasBar ? <progress aria-label={t('download.progress')} max={100} value={value ?? undefined} /> : null}
      <small>{text}</small>
    </span>
  );
}

interface UploadButtonsProps {
  readonly download: Download;
  readonly isBusy: boolean;
  readonly onAction: (action: DownloadAction) => void;
}

function UploadButtons({ download: { status }, isBusy, onAction }: UploadButtonsProps) {
  const { t } = useTranslation();
  const can = useCan();
  if (!can('commands') || (status !== 'uploading' && status !== 'paused')) return null;
  const other = status === 'uploading' ? 'pause' : 'resume';
  return (
    <>
      <Button size="compact-sm" variant="default" disabled={isBusy} onClick={() => onAction(other)}>
        {t(`download.${other}`)}
      </Button>
      <Button size="compact-sm" variant="default" disabled={isBusy} onClick={() => onAction('cancel')}>
        {t('download.cancel')}
      </Button>
    </>
  );
}

interface FileButtonsProps {
  readonly download: Download;
  readonly isBusy: boolean;
  readonly onConvert: (isWanted: boolean) => void;
}

function FileButtons({ download, isBusy, onConvert }: FileButtonsProps) {
  const { t } = useTranslation();
  const can = useCan();
  const { status, download_url: url, mp4 } = download;
  if (status !== 'completed') return null;
  const save = (href: string, label: string): ReactNode => (
    <Button size="compact-sm" variant="default" component="a" href={`${href}&download=1`} download>
      {label}
    </Button>
  );
  return (
    <>
      {url === null ? null : save(url, t('download.original'))}
      {mp4?.status === 'completed' && mp4.url !== null ? save(mp4.url, t('download.saveMp4')) : null}
      {can('commands') && mp4?.status !== 'completed' && url !== null ? (
        <Button size="compact-sm" variant="default" disabled={isBusy} onClick={() => onConvert(!isRunning(download))}>
          {t(
            isRunning(download)
              ? 'download.cancelMp4'
              : mp4?.status === 'failed'
                ? 'download.retryMp4'
                : 'download.makeMp4',
          )}
        </Button>
      ) : null}
    </>
  );
}
