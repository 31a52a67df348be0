import { Button, Group, Loader, NumberInput, Popover, Text } from '@mantine/core';
import '@mantine/core/styles/NumberInput.css';
import { IconCamera, IconScissors } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Capture, stateOf } from '../captures/capture-entry.ts';
import { useCapture, useRequestCapture } from '../captures/queries.ts';
import { Failure } from '../ui/states.tsx';

interface CaptureProps {
  readonly vehicleId: number;
  readonly channelId: number;
}

const defaultSeconds = 10;
const maxSeconds = 30;

/** Shows buttons that take a picture, and that record a clip of 1 to 30 seconds. The file appears above them. */
export function CaptureButtons({ snapshot, ...props }: CaptureProps & { readonly snapshot: { takeNow: () => void } }) {
  const [opened, setOpened] = useState<Capture['kind'] | null>(null);
  const onOpen = (kind: Capture['kind'], isOpen: boolean): void => {
    if (isOpen) setOpened(kind);
    // A popover that fades out still reports a click on the other one.
    else setOpened((current) => (current === kind ? null : current));
  };
  return (
    <>
      <PictureButton
        {...props}
        snapshot={snapshot}
        isOpen={opened === 'photo'}
        onOpen={(isOpen) => onOpen('photo', isOpen)}
      />
      <ClipButton {...props} isOpen={opened === 'clip'} onOpen={(isOpen) => onOpen('clip', isOpen)} />
    </>
  );
}

interface OpenProps extends CaptureProps {
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
}

function PictureButton({ snapshot, isOpen, onOpen, ...camera }: OpenProps & { snapshot: { takeNow: () => void } }) {
  const { t } = useTranslation('video');
  const request = useRequestCapture();
  const take = (): void => {
    onOpen(true);
    request.mutate({ ...camera, kind: 'photo', seconds: null });
  };
  snapshot.takeNow = take;
  const close = (): void => onOpen(false);
  return (
    <Popover opened={isOpen} onDismiss={close} position="top" trapFocus>
      <Popover.Target>
        <Button size="compact-sm" variant="default" leftSection={<IconCamera size={16} aria-hidden />} onClick={take}>
          {t('snapshot')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className="tile-capture">
        <CaptureResult request={request} vehicleId={camera.vehicleId} wait={t('capture.waiting')} onClose={close} />
      </Popover.Dropdown>
    </Popover>
  );
}

function ClipButton({ isOpen, onOpen, ...camera }: OpenProps) {
  const { t } = useTranslation('video');
  const request = useRequestCapture();
  const [seconds, setSeconds] = useState(defaultSeconds);
  const close = (): void => onOpen(false);
  const open = (): void => {
    request.reset();
    onOpen(true);
  };
  return (
    <Popover opened={isOpen} onDismiss={close} position="top" trapFocus>
      <Popover.Target>
        <Button size="compact-sm" variant="default" leftSection={<IconScissors size={16} aria-hidden />} onClick={open}>
          {t('clip')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className="tile-capture">
        {request.isIdle ? (
          <ClipForm
            seconds={seconds}
            onSeconds={setSeconds}
            onRecord={() => request.mutate({ ...camera, kind: 'clip', seconds })}
          />
        ) : (
          <CaptureResult
            request={request}
            vehicleId={camera.vehicleId}
            wait={t('capture.recording', { seconds })}
            onClose={close}
          />
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

interface ClipFormProps {
  readonly seconds: number;
  readonly onSeconds: (seconds: number) => void;
  readonly onRecord: () => void;
}

function ClipForm({ seconds, onSeconds, onRecord }: ClipFormProps) {
  const { t } = useTranslation('video');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onRecord();
      }}
    >
      <NumberInput
        label={t('capture.seconds')}
        min={1}
        max={maxSeconds}
        clampBehavior="strict"
        allowDecimal={false}
        value={seconds}
        onChange={(value) => onSeconds(Number(value) || 1)}
        data-autofocus
      />
      <Text size="xs" my={6}>
        {t('capture.cost')}
      </Text>
      <Button type="submit" size="xs">
        {t('capture.record')}
      </Button>
    </form>
  );
}

interface CaptureResultProps {
  readonly request: ReturnType<typeof useRequestCapture>;
  readonly vehicleId: number;
  readonly wait: string;
  readonly onClose: () => void;
}

/** Shows the file as soon as it has arrived. The activity tray shows it too, so this can be closed. */
function CaptureResult({ request, vehicleId, wait, onClose }: CaptureResultProps) {
  const { t } = useTranslation('video');
  const { data: capture } = useCapture(request.data?.capture_id ?? null);
  const state = request.isPending ? 'pending' : stateOf({ refusal: request.error?.message ?? null }, capture);
  const file = capture?.media[0];
  return (
    <div role="status">
      {state === 'pending' ? (
        <Group gap="xs">
          <Loader size="xs" />
          {wait}
        </Group>
      ) : null}
      {request.error === null ? null : <Failure error={request.error} />}
      {request.error === null && state === 'failed' ? (
        <Text size="sm">{capture?.error ?? t('capture.notArrived')}</Text>
      ) : null}
      {file === undefined ? null : <CapturedFile file={file} />}
      <Group gap="xs" mt="xs">
        {file === undefined ? null : (
          <Button component="a" size="compact-sm" variant="default" href={file.url} download>
            {t('capture.download')}
          </Button>
        )}
        {state === 'completed' ? (
          <Link to="/vehicles/$vehicleId/media" params={{ vehicleId: String(vehicleId) }} search={{}}>
            {t('capture.media')}
          </Link>
        ) : null}
        <Button size="compact-sm" variant="default" onClick={onClose}>
          {t('common:action.close')}
        </Button>
      </Group>
    </div>
  );
}

function CapturedFile({ file }: { file: Capture['media'][number] }) {
  const { t } = useTranslation('video');
  if (file.kind === 'video')
    return <video src={file.url} controls autoPlay muted playsInline aria-label={t('capture.clip')} />;
  return <img src={file.url} alt={t('capture.picture')} />;
}
