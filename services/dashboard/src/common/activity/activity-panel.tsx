import { Button, Drawer, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { useCaptureActivity } from '../captures/queries.ts';
import type { Download } from '../downloads/download.ts';
import { DownloadRow } from '../downloads/download-row.tsx';
import { useVehicle } from '../live/live-context.ts';
import { Age } from '../ui/age.tsx';
import { Empty } from '../ui/states.tsx';
import { type Command, hasEnded } from './activity-store.ts';
import { CaptureList } from './capture-list.tsx';

interface ActivityPanelProps {
  readonly downloads: readonly Download[];
  readonly captures: ReturnType<typeof useCaptureActivity>;
  readonly commands: readonly Command[];
  /** Removes the commands from the list. */
  readonly onClear: () => void;
  readonly onClose: () => void;
}

/** Shows what runs and what has ended: pictures, clips, uploads with their conversions, and commands with results. */
export function ActivityPanel({ downloads, captures, commands, onClear, onClose }: ActivityPanelProps) {
  const { t } = useTranslation();
  const isEmpty = downloads.length === 0 && captures.activities.length === 0 && commands.length === 0;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      title={t('activity.title')}
      closeButtonProps={{ 'aria-label': t('action.close') }}
    >
      {isEmpty ? <Empty title={t('activity.empty')} /> : null}
      <Stack gap="lg">
        <CaptureList activities={captures.activities} onClear={captures.clear} onClose={onClose} />
        <UploadList downloads={downloads} onClose={onClose} />
        <CommandList commands={commands} onClear={onClear} onClose={onClose} />
      </Stack>
    </Drawer>
  );
}

function UploadList({ downloads, onClose }: Pick<ActivityPanelProps, 'downloads' | 'onClose'>) {
  const { t } = useTranslation();
  if (downloads.length === 0) return null;
  return (
    <section aria-label={t('activity.uploads')}>
      <Text component="h3" fw={600}>
        {t('activity.uploads')}
      </Text>
      <ul className="row-list">
        {downloads.map((download) => (
          <li key={download.video_id}>
            <Stack gap={2} w="100%">
              <Link to="/media" search={{ vehicle: download.vehicle_id }} onClick={onClose}>
                {t('activity.upload', { vehicle: download.vehicle_no, channel: download.channel })}
              </Link>
              <DownloadRow download={download} />
            </Stack>
          </li>
        ))}
      </ul>
    </section>
  );
}

function CommandList({ commands, onClear, onClose }: Pick<ActivityPanelProps, 'commands' | 'onClear' | 'onClose'>) {
  const { t } = useTranslation();
  if (commands.length === 0) return null;
  return (
    <section aria-label={t('activity.commands')}>
      <Group justify="space-between">
        <Text component="h3" fw={600}>
          {t('activity.commands')}
        </Text>
        {commands.some(hasEnded) ? (
          <Button size="compact-sm" variant="default" onClick={onClear}>
            {t('activity.clear')}
          </Button>
        ) : null}
      </Group>
      <ul className="row-list">
        {commands.map((command) => (
          <CommandRow key={command.command_id} command={command} onClose={onClose} />
        ))}
      </ul>
    </section>
  );
}

function CommandRow({ command, onClose }: { command: Command; onClose: () => void }) {
  const { t } = useTranslation();
  const vehicle = useVehicle(command.vehicle_id);
  const { type, status, result, error_message: error, created_at: createdAt, completed_at: completedAt } = command;
  return (
    <li>
      <Link
        to="/vehicles/$vehicleId/$tab"
        params={{ vehicleId: String(command.vehicle_id), tab: 'commands' }}
        onClick={onClose}
      >
        {t(`activity.command.${type}`)}, {vehicle?.vehicleNo ?? command.imei}
      </Link>
      <span>
        {t(`activity.status.${status}`)}
        {result === null ? '' : `: ${result}`}
        {error === null ? '' : `: ${error}`}
      </span>
      <small>
        <Age timeMs={Date.parse(completedAt ?? createdAt)} />
      </small>
    </li>
  );
}
