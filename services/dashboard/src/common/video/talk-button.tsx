import { Button, Group } from '@mantine/core';
import { IconMicrophone } from '@tabler/icons-react';
import { type KeyboardEvent, type RefObject, useEffect, useImperativeHandle, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNow } from '../format/preferences-context.ts';
import { useMe } from '../session/session-context.ts';
import { formatElapsed } from './format-elapsed.ts';
import { TalkSession, type TalkState } from './talk-session.ts';

/** Lets a key of the tile hold the button. */
export interface TalkControl {
  press(): void;
  release(): void;
}

interface TalkButtonProps {
  readonly talkUrl: string;
  /** The sound of the camera is muted during a talk: it has the driver's voice too. */
  readonly onTalking: (isOpen: boolean) => void;
  readonly control: RefObject<TalkControl | null>;
}

/** Roles that may take over a talk. */
const managers: readonly string[] = ['superadmin', 'owner', 'admin', 'manager'];
const heldKeys = [' ', 'Enter'];

/** Talks while its button is held: by pointer or by key. */
export function TalkButton({ talkUrl, onTalking, control }: TalkButtonProps) {
  const { t } = useTranslation('video');
  const session = useRef<TalkSession | null>(null);
  const [state, setState] = useState<TalkState>({ kind: 'idle' });
  const newestOnTalking = useRef(onTalking);
  newestOnTalking.current = onTalking;
  // The address changes with each start; a talk that runs keeps its own.
  const newestUrl = useRef(talkUrl);
  newestUrl.current = talkUrl;
  useEffect(() => () => session.current?.close(), []);

  const onState = (next: TalkState): void => {
    setState(next);
    const isOpen = next.kind !== 'idle' && next.kind !== 'failed';
    newestOnTalking.current(isOpen);
    if (!isOpen) session.current = null;
  };
  const press = (isForced = false): void => {
    session.current ??= new TalkSession(newestUrl.current, onState);
    void session.current.press({ isForced });
  };
  const release = (): void => session.current?.release();
  // Takes over; the button talks from then on.
  const forcedPress = (): void => {
    press(true);
    release();
  };
  useImperativeHandle(control, () => ({ press: () => press(), release }));
  const onKey = (event: KeyboardEvent, action: () => void): void => {
    if (!heldKeys.includes(event.key)) return;
    event.preventDefault();
    if (!event.repeat) action();
  };
  return (
    <>
      <Button
        size="compact-sm"
        variant={state.kind === 'talking' ? 'filled' : 'default'}
        leftSection={<IconMicrophone size={16} aria-hidden />}
        aria-pressed={state.kind === 'talking'}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          press();
        }}
        onPointerUp={release}
        onPointerCancel={release}
        onKeyDown={(event) => onKey(event, press)}
        onKeyUp={(event) => onKey(event, release)}
        onBlur={release}
      >
        {t('talk.hold')}
      </Button>
      <TalkStatus state={state} onForce={forcedPress} onEnd={() => session.current?.close()} />
    </>
  );
}

function TalkStatus({ state, onForce, onEnd }: { state: TalkState; onForce: () => void; onEnd: () => void }) {
  const { t } = useTranslation('video');
  const nowMs = useNow();
  const { role } = useMe();
  if (state.kind === 'idle') return null;
  if (state.kind === 'failed')
    return (
      <Group gap={6} className="talk-status" role="alert">
        <span>{t(`talk.failure.${state.reason}`)}</span>
        {state.message === '' ? null : <small>{state.message}</small>}
        {state.reason === 'busy' && managers.includes(role) ? (
          <Button size="compact-xs" variant="default" onClick={onForce}>
            {t('talk.force')}
          </Button>
        ) : null}
      </Group>
    );
  const time = 'sinceMs' in state ? formatElapsed(nowMs - state.sinceMs) : formatElapsed(state.untilMs - nowMs);
  return (
    <Group gap={6} className="talk-status" role="status">
      <span>{t(`talk.${state.kind}`, { time })}</span>
      {state.kind === 'talking' ? <meter min={0} max={1} value={state.level} aria-label={t('talk.level')} /> : null}
      <Button size="compact-xs" variant="default" onClick={onEnd}>
        {t('talk.end')}
      </Button>
    </Group>
  );
}
