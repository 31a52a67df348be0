import { Modal } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';

interface ViewerProps {
  readonly kind: 'image' | 'video';
  readonly url: string;
  readonly title: string;
  readonly onClose: () => void;
}

/** Shows a picture or plays a video, large. */
export function Viewer({ kind, url, title, onClose }: ViewerProps) {
  const { t } = useTranslation('media');
  const [hasFailed, setHasFailed] = useState(false);
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="xl"
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      {hasFailed ? <p role="alert">{t('cannotPlay')}</p> : null}
      {kind === 'image' ? (
        <img className="media-large" src={url} alt={title} onError={() => setHasFailed(true)} />
      ) : (
        <video
          className="media-large"
          src={url}
          controls
          autoPlay
          muted
          playsInline
          aria-label={title}
          onError={() => setHasFailed(true)}
        />
      )}
    </Modal>
  );
}
