import type { components } from '@fleet/api-client';
import { Button, Group, Loader, NumberInput, Popover, Text } from '@mantine/core';
import '@mantine/core/styles/NumberInput.css';
import { IconCamera, IconScissors } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../session/session-context.ts';
import { Failure } from '../ui/states.tsx';

type CaptureRecord = components['schemas']['Capture'];

interface CaptureRequest {
  readonly kind: 'photo' | 'clip';
  readonly seconds: number;
}

interface CaptureProps {
  readonly vehicleId: number;
  readonly channelId: number;
}

const defaultSeconds = 10;
const maxSeconds = 30;
/** Beyond the length of a clip, for its start and its conversion. */
const extraWaitSeconds = 25;
/** A capture whose file has not arrived by then is read again. */
const readIntervalMs = 2_000;

/**
 * Returns a function that takes a picture or records a clip, and the state of that capture. A capture whose file takes
 * longer than one request is read until it has ended.
 */
function useCapture({ vehicleId, channelId }: CaptureProps) {
  const { api } = useSession();
  const { data: requested, ...request } = useMutation({
    mutationFn: async ({ kind, seconds }: CaptureRequest) => {
      const wait = Math.min(60, extraWaitSeconds + (kind === 'clip' ? seconds : 0));
      const query = { channel_id: channelId, kind, wait, ...(kind === 'clip' ? { duration_seconds: seconds } : {}) };
      const params = { path: { vehicleId }, query };
      const { data } = await api.POST('/api/vehicles/{vehicleId}/dashcam-media-capture', { params });
      if (data === undefined) throw new Error('The server returned no capture.');
      return data.data;
    },
  });
  const captureId = requested?.capture_id ?? '';
  const { data: current = requested } = useQuery({
    queryKey: ['captures', captureId],
    enabled: requested?.status === 'pending',
    refetchInterval: ({ state }) =>
      state.data === undefined || state.data.status === 'pending' ? readIntervalMs : false,
    queryFn: async () => {
      const { data } = await api.GET('/api/dashcam-captures/{captureId}', { params: { path: { captureId } } });
      return data?.data ?? requested;
    },
  });
  return { ...request, data: current };
}

/** Shows buttons that take a picture, and that record a clip of 1 to 30 seconds. The file appears above them. */
export function CaptureButtons(props: CaptureProps & { readonly snapshot: { takeNow: () => void } }) {
  const { t } = useTranslation('video');
  const capture = useCapture(props);
  const [opened, setOpened] = useState<CaptureRequest['kind'] | null>(null);
  const [seconds, setSeconds] = useState(defaultSeconds);
  const take = (): void => {
    setOpened('photo');
    capture.mutate({ kind: 'photo', seconds: 1 });
  };
  props.snapshot.takeNow = take;
  const open = (kind: CaptureRequest['kind']): void => {
    capture.reset();
    setOpened(kind);
  };
  const close = (): void => setOpened(null);
  return (
    <>
      <Popover opened={opened === 'photo'} onDismiss={close} position="top" trapFocus>
        <Popover.Target>
          <Button size="compact-sm" variant="default" leftSection={<IconCamera size={16} aria-hidden />} onClick={take}>
            {t('snapshot')}
          </Button>
        </Popover.Target>
        <Popover.Dropdown className="tile-capture">
          <CaptureResult {...capture} vehicleId={props.vehicleId} wait={t('capture.waiting')} onClose={close} />
        </Popover.Dropdown>
      </Popover>
      <Popover opened={opened === 'clip'} onDismiss={close} position="top" trapFocus>
        <Popover.Target>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconScissors size={16} aria-hidden />}
            onClick={() => open('clip')}
          >
            {t('clip')}
          </Button>
        </Popover.Target>
        <Popover.Dropdown className="tile-capture">
          {capture.isIdle ? (
            <form
              onSubmit={(event) => {
                event.preventDefault();
                capture.mutate({ kind: 'clip', seconds });
              }}
            >
              <NumberInput
                label={t('capture.seconds')}
                min={1}
                max={maxSeconds}
                clampBehavior="strict"
                allowDecimal={false}
                value={seconds}
                onChange={(value) => setSeconds(Number(value) || 1)}
                data-autofocus
              />
              <Text size="xs" my={6}>
                {t('capture.cost')}
              </Text>
              <Button type="submit" size="xs">
                {t('capture.record')}
              </Button>
            </form>
          ) : (
            <CaptureResult
              {...capture}
              vehicleId={props.vehicleId}
              wait={t('capture.recording', { seconds })}
              onClose={close}
            />
          )}
        </Popover.Dropdown>
      </Popover>
    </>
  );
}

interface CaptureResultProps {
  readonly vehicleId: number;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly data: CaptureRecord | undefined;
  readonly wait: string;
  readonly onClose: () => void;
}

function CaptureResult({ vehicleId, isPending, error, data, wait, onClose }: CaptureResultProps) {
  const { t } = useTranslation('video');
  const file = data?.media[0];
  return (
    <div role="status">
      {isPending ? (
        <Group gap="xs">
          <Loader size="xs" />
          {wait}
        </Group>
      ) : null}
      {error === null ? null : <Failure error={error} />}
      {file === undefined ? null : <CapturedFile file={file} />}
      {typeof data?.error === 'string' ? <Text size="sm">{data.error}</Text> : null}
      {data?.status === 'pending' ? <Text size="sm">{t('capture.later')}</Text> : null}
      <Group gap="xs" mt="xs">
        {file === undefined ? null : (
          <Button component="a" size="compact-sm" variant="default" href={file.url} download>
            {t('capture.download')}
          </Button>
        )}
        {data === undefined ? null : (
          <Link to="/vehicles/$vehicleId/media" params={{ vehicleId: String(vehicleId) }} search={{}}>
            {t('capture.media')}
          </Link>
        )}
        <Button size="compact-sm" variant="default" onClick={onClose}>
          {t('common:action.close')}
        </Button>
      </Group>
    </div>
  );
}

function CapturedFile({ file }: { file: CaptureRecord['media'][number] }) {
  const { t } = useTranslation('video');
  if (file.kind === 'video')
    return <video src={file.url} controls autoPlay muted playsInline aria-label={t('capture.clip')} />;
  return <img src={file.url} alt={t('capture.picture')} />;
}
