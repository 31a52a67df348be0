import { Group } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { EventRecord } from '../../../common/events/event-record.ts';

type EventFile = EventRecord['media'][number];

/** Shows the pictures and clips of an event. A clip plays where it is. */
export function EventMedia({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  if (event.media.length === 0) return null;
  return (
    <Group gap="sm" align="start" role="group" aria-label={t('media')}>
      {event.media.map((file) => (
        <EventFileView key={file.id} file={file} title={event.title} />
      ))}
    </Group>
  );
}

function EventFileView({ file, title }: { file: EventFile; title: string }) {
  const { t } = useTranslation('events');
  const [hasFailed, setHasFailed] = useState(false);
  const { kind, url, thumbnail_url: thumbnail } = file;
  if (kind === 'video' && !hasFailed)
    return (
      <video
        className="events-media"
        src={url}
        {...(thumbnail === null ? {} : { poster: thumbnail })}
        controls
        muted
        playsInline
        preload="metadata"
        aria-label={t('clip', { title })}
        onError={() => setHasFailed(true)}
      />
    );
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {kind === 'image' && !hasFailed ? (
        <img
          className="events-media"
          src={thumbnail ?? url}
          alt={t('picture', { title })}
          onError={() => setHasFailed(true)}
        />
      ) : (
        t('file', { kind })
      )}
    </a>
  );
}
