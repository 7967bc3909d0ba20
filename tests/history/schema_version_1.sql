-- A history as version 1 wrote it: one entry of each kind, and an upload.
BEGIN TRANSACTION;
CREATE TABLE mediakit_entries (
	number INTEGER NOT NULL,
	"key" VARCHAR NOT NULL,
	draw_key VARCHAR NOT NULL,
	service VARCHAR NOT NULL,
	account VARCHAR NOT NULL,
	function VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	body BLOB NOT NULL,
	prompt TEXT,
	webhook_url TEXT,
	take INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	estimate_kind VARCHAR NOT NULL,
	estimate_low_micro_usd BIGINT,
	estimate_high_micro_usd BIGINT,
	reserved_micro_usd BIGINT NOT NULL,
	project VARCHAR,
	state VARCHAR NOT NULL,
	job_id VARCHAR,
	status VARCHAR,
	error_code VARCHAR,
	error_message TEXT,
	billing_state VARCHAR,
	charge_micro_usd BIGINT,
	restated_charge_micro_usd BIGINT,
	output_url TEXT,
	content_type VARCHAR,
	media_type VARCHAR,
	created_at BIGINT NOT NULL,
	submitted_at BIGINT,
	finished_at BIGINT,
	settled_at BIGINT,
	deleted_at BIGINT,
	gone_at BIGINT,
	PRIMARY KEY (number),
	UNIQUE ("key")
);
INSERT INTO "mediakit_entries" VALUES(1,'settled','draw-settled','sandbox','mine','sandbox/text-to-video/text-to-video','text-to-video',X'7B2270726F6D7074223A2278227D','ein ÜBER-Drachen, 100% Wind',NULL,1,1,'exact',340000,340000,340000,'Drachen','settled','media_settled','completed',NULL,NULL,'settled',340000,NULL,'http://127.0.0.1:8000/files/out.mp4','video/mp4','video',1790847000000000,1790847000000000,1790847000000000,1790847000000000,NULL,NULL);
INSERT INTO "mediakit_entries" VALUES(2,'running','draw-running','sandbox','mine','sandbox/text-to-video/text-to-video','text-to-video',X'7B2270726F6D7074223A2278227D','a kite over dunes',NULL,1,1,'exact',340000,340000,340000,NULL,'submitted','media_running','running',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1790847000000000,1790847000000000,NULL,NULL,NULL,NULL);
INSERT INTO "mediakit_entries" VALUES(3,'open','draw-open','sandbox','mine','sandbox/text-to-video/text-to-video','text-to-video',X'7B2270726F6D7074223A2278227D','a kite over dunes',NULL,2,1,'upper_bound',50000,70000,70000,NULL,'intent',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1790847000000000,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "mediakit_entries" VALUES(4,'failed','draw-failed','sandbox','mine','sandbox/image-upscale/image-upscale','image-upscale',X'7B2270726F6D7074223A2278227D',NULL,NULL,1,1,'exact',340000,340000,340000,NULL,'terminal','media_failed','failed','provider_error','The provider gave up.',NULL,NULL,NULL,NULL,NULL,NULL,1790847000000000,1790847000000000,1790847000000000,NULL,NULL,NULL);
INSERT INTO "mediakit_entries" VALUES(5,'refused','draw-refused','sandbox','mine','sandbox/text-to-video/text-to-video','text-to-video',X'7B2270726F6D7074223A2278227D','a kite over dunes',NULL,1,1,'exact',340000,340000,340000,NULL,'refused',NULL,NULL,'422','prompt is too long',NULL,NULL,NULL,NULL,NULL,NULL,1790847000000000,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE mediakit_uploads (
	service VARCHAR NOT NULL,
	account VARCHAR NOT NULL,
	sha256 VARCHAR NOT NULL,
	content_type VARCHAR NOT NULL,
	size_bytes BIGINT NOT NULL,
	url TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (service, account, sha256, content_type)
);
INSERT INTO "mediakit_uploads" VALUES('sandbox','mine','abababababababababababababababababababababababababababababababab','image/png',10,'https://media.example/1.png',1790847000000000);
CREATE TABLE mediakit_version (
	version INTEGER NOT NULL
);
INSERT INTO "mediakit_version" VALUES(1);
CREATE INDEX ix_mediakit_job ON mediakit_entries (job_id);
CREATE INDEX ix_mediakit_kind ON mediakit_entries (kind, number);
CREATE INDEX ix_mediakit_draw ON mediakit_entries (service, account, draw_key, take, attempt);
CREATE INDEX ix_mediakit_state ON mediakit_entries (service, account, state);
COMMIT;
