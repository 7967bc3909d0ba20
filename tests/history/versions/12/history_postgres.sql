CREATE TABLE public.mediakit_drafts (
    origin text NOT NULL,
    content text NOT NULL,
    saved_at bigint NOT NULL
);
CREATE TABLE public.mediakit_entries (
    number bigint NOT NULL,
    key character varying NOT NULL,
    draw_key character varying NOT NULL,
    asked_key character varying NOT NULL,
    service character varying NOT NULL,
    account character varying NOT NULL,
    function character varying NOT NULL,
    kind character varying NOT NULL,
    body bytea NOT NULL,
    prompt text,
    webhook_url text,
    take integer NOT NULL,
    attempt integer NOT NULL,
    estimate_kind character varying NOT NULL,
    estimate_low_micro_usd bigint,
    estimate_high_micro_usd bigint,
    reserved_micro_usd bigint NOT NULL,
    project text,
    budget text,
    sweep text,
    state character varying(20) NOT NULL,
    job_id text,
    status character varying(20),
    error_code text,
    error_message text,
    billing_state character varying(20),
    charge_micro_usd bigint,
    restated_charge_micro_usd bigint,
    output_url text,
    content_type text,
    media_type text,
    created_at bigint NOT NULL,
    submitted_at bigint,
    finished_at bigint,
    settled_at bigint,
    deleted_at bigint,
    gone_at bigint,
    search text DEFAULT ''::text NOT NULL
);
CREATE SEQUENCE public.mediakit_entries_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.mediakit_entries_number_seq OWNED BY public.mediakit_entries.number;
CREATE TABLE public.mediakit_hashes (
    service character varying NOT NULL,
    account character varying NOT NULL,
    job_id text NOT NULL,
    sha256 character varying NOT NULL
);
CREATE TABLE public.mediakit_job_scores (
    service character varying NOT NULL,
    account character varying NOT NULL,
    job_id text NOT NULL,
    scorer text NOT NULL,
    version text NOT NULL,
    seen character varying NOT NULL,
    cost_micro_usd bigint,
    used_at bigint NOT NULL
);
CREATE TABLE public.mediakit_judgements (
    service character varying NOT NULL,
    account character varying NOT NULL,
    job_id text NOT NULL,
    rating smallint,
    keep boolean NOT NULL,
    tags text NOT NULL,
    note text NOT NULL,
    rater text NOT NULL,
    rated_at bigint NOT NULL
);
CREATE TABLE public.mediakit_origins (
    origin text NOT NULL,
    key character varying NOT NULL
);
CREATE TABLE public.mediakit_parents (
    draw_key character varying NOT NULL,
    field text NOT NULL,
    job_id text NOT NULL
);
CREATE TABLE public.mediakit_preferences (
    service character varying NOT NULL,
    account character varying NOT NULL,
    winner text NOT NULL,
    loser text NOT NULL,
    tie boolean NOT NULL,
    rater text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.mediakit_scores (
    seen character varying NOT NULL,
    scorer text NOT NULL,
    version text NOT NULL,
    score text NOT NULL,
    scored_at bigint NOT NULL
);
CREATE TABLE public.mediakit_sweep_cells (
    sweep character varying NOT NULL,
    number integer NOT NULL,
    asked_key character varying NOT NULL,
    take integer NOT NULL,
    point text NOT NULL
);
CREATE TABLE public.mediakit_sweeps (
    id character varying NOT NULL,
    service character varying NOT NULL,
    function character varying NOT NULL,
    axes text NOT NULL,
    prompt text,
    code text NOT NULL,
    begun_at bigint NOT NULL
);
CREATE TABLE public.mediakit_totals (
    name text NOT NULL,
    spent_micro_usd bigint NOT NULL,
    reserved_micro_usd bigint NOT NULL,
    limit_micro_usd bigint
);
CREATE TABLE public.mediakit_uploads (
    service character varying NOT NULL,
    sha256 character varying NOT NULL,
    content_type character varying NOT NULL,
    size_bytes bigint NOT NULL,
    url text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.mediakit_version (
    version integer NOT NULL
);
ALTER TABLE ONLY public.mediakit_entries ALTER COLUMN number SET DEFAULT nextval('public.mediakit_entries_number_seq'::regclass);
INSERT INTO public.mediakit_drafts VALUES ('["form"]', '{"values": {"prompt": "unsent"}}', 1795991955450351);
INSERT INTO public.mediakit_entries VALUES (1, '5bcdc342bc10ac4a44a20f00acf1e36613bb4ac8a87e1898e64bf72e9585c3cf', 'd23f97705ad328765fe564bfc867f369ddebcdfde90c0878bc7a89fae8220116', '42bbe08567b98802a6b4971b75a74b8b1fcd451b40992f94b23ccf0134baaed0', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226120726564206b697465222c2275707363616c655f666163746f72223a227832227d', 'a red kite', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'settled', 'media_8c9c269a-06bc-4f83-871b-50254774cd30', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:39623/files/osSpfXbl8yGcjJIGizDq9TQb8zFdcksQ.jpg', 'image/jpeg', 'image', 1795991777965637, 1795991778080987, 1795991778565022, 1795991778565022, NULL, NULL, 'a red kiteimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_8c9c269a-06bc-4f83-871b-50254774cd30
kites');
INSERT INTO public.mediakit_entries VALUES (2, '193a304d1c3e94717edd2669d1663651a03c0029a2784f331f98284bd3097d85', 'd23f97705ad328765fe564bfc867f369ddebcdfde90c0878bc7a89fae8220116', '42bbe08567b98802a6b4971b75a74b8b1fcd451b40992f94b23ccf0134baaed0', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226120726564206b697465222c2275707363616c655f666163746f72223a227832227d', 'a red kite', NULL, 2, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'settled', 'media_09e5c2e0-ff9a-496c-8b34-7538d0972398', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:39623/files/sN1goD3ch7Mr4vvj0gbetwCqLX0Mic0U.jpg', 'image/jpeg', 'image', 1795991778473935, 1795991778672557, 1795991779125031, 1795991779125031, NULL, NULL, 'a red kite · take 2image upscale
image-upscale
sandbox/image-upscale/image-upscale
media_09e5c2e0-ff9a-496c-8b34-7538d0972398
kites');
INSERT INTO public.mediakit_entries VALUES (3, '91d03c7332254e43e3f53310ffaa5077bd945a57103cfc099b041f5c87c582bc', 'd23f97705ad328765fe564bfc867f369ddebcdfde90c0878bc7a89fae8220116', '42bbe08567b98802a6b4971b75a74b8b1fcd451b40992f94b23ccf0134baaed0', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226120726564206b697465222c2275707363616c655f666163746f72223a227832227d', 'a red kite', NULL, 3, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'settled', 'media_35ae7100-8bec-4932-b06d-e067696f206b', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:39623/files/IGBtw5Z1ka7pESKkNDSUnb6oQiTpl6-B.jpg', 'image/jpeg', 'image', 1795991779134740, 1795991779200539, 1795991779608567, 1795991779608567, NULL, NULL, 'a red kite · take 3image upscale
image-upscale
sandbox/image-upscale/image-upscale
media_35ae7100-8bec-4932-b06d-e067696f206b
kites');
INSERT INTO public.mediakit_entries VALUES (4, '97d0397ca31410cfb86b4852d2f6d8bf510ce6d155fe7f94b9478983aae944f3', '1f0cd3dfe178113c4002d3ac5e3c4e25c2b163730d4b6b7afd930296df814617', '1f0cd3dfe178113c4002d3ac5e3c4e25c2b163730d4b6b7afd930296df814617', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/text-to-video/text-to-video', 'text-to-video', '\x7b226173706563745f726174696f223a2231363a39222c22617564696f223a226f6666222c226475726174696f6e223a332c2270726f6d7074223a2261206b697465222c227265736f6c7574696f6e223a2237323070222c22776562686f6f6b5f75726c223a22687474703a2f2f3132372e302e302e313a34333536332f686f6f6b227d', 'a kite', 'http://127.0.0.1:43563/hook', 1, 1, 'exact', 204000, 204000, 204000, 'kites', 'project kites', NULL, 'settled', 'media_9aa4b653-9a64-4a98-a88a-de6745ca4699', 'completed', NULL, NULL, 'settled', 204000, NULL, 'http://127.0.0.1:39623/files/W380xPuvwdXT6JrxTzdEB8I7UUp3lFrJ.mp4', 'video/mp4', 'video', 1795991779339429, 1795991779554071, 1795991781408689, 1795991782588246, NULL, NULL, 'a kitetext to video
text-to-video
sandbox/text-to-video/text-to-video
media_9aa4b653-9a64-4a98-a88a-de6745ca4699
kites');
INSERT INTO public.mediakit_entries VALUES (5, '715fa95b330bd8a0d01910f374d91de110e940b12c6a8dd4de517851c1545062', 'a19c5846f34e5cbf5dfe7b8fe0a32c20eb7eb4efde51d8f840249a943912788a', 'a19c5846f34e5cbf5dfe7b8fe0a32c20eb7eb4efde51d8f840249a943912788a', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/text-to-video/text-to-video', 'text-to-video', '\x7b226173706563745f726174696f223a2231363a39222c22617564696f223a226f6666222c226475726174696f6e223a332c2270726f6d7074223a2273616e64626f783a6661696c3d636f6e74656e745f6d6f6465726174696f6e222c227265736f6c7574696f6e223a2237323070227d', 'sandbox:fail=content_moderation', NULL, 1, 1, 'exact', 204000, 204000, 204000, 'kites', 'project kites', NULL, 'settled', 'media_60528f74-735c-4594-a9d3-899c8325b166', 'failed', 'content_moderation', 'The request asks for this failure (sandbox:fail=content_moderation).', 'settled', 0, NULL, NULL, NULL, NULL, 1795991779695383, 1795991779791579, 1795991780203039, 1795991780203039, NULL, NULL, 'sandbox:fail=content_moderationtext to video
text-to-video
sandbox/text-to-video/text-to-video
media_60528f74-735c-4594-a9d3-899c8325b166
kites
content_moderation
the request asks for this failure (sandbox:fail=content_moderation).');
INSERT INTO public.mediakit_entries VALUES (6, '15de323105d75bf8d03482e061dd21a686c2f0d023de95b696c327e3195700c9', 'a610a8d7c75c74464cb24ebf1513fec73d96afd9ce4ba5c8db83d9aae1bd5d19', '9e43b432e32d2cccd073613c585c7429096f712b7bb7941583f6199ab81aa04a', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a2261206b697465207468617420697320657261736564222c2275707363616c655f666163746f72223a227832227d', 'a kite that is erased', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'settled', 'media_ed5b3a82-3236-4abb-a024-5a56eb60156e', 'completed', NULL, NULL, 'settled', 756000, NULL, NULL, 'image/jpeg', 'image', 1795991779890620, 1795991779932320, 1795991786978029, 1795991786978029, 1795992123589252, NULL, 'a kite that is erasedimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_ed5b3a82-3236-4abb-a024-5a56eb60156e
kites');
INSERT INTO public.mediakit_entries VALUES (7, '6dacdf26717463b3f2edb136285cb519be25ea3d7b53cb5c8d9876cd81ca2e7c', 'bbd3c29258e197bdba17e487c4186ca3058ae7b5924a99aec8d20544d16ffef9', '7289b40dbd8fe936dd5efe8e0e2b6a4c1eb1643ed0a706c32e7a1d9ff31b6a47', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f5648756a46495851576d4c4343707579785737466652424e4c7051544a644f632e706e67222c226d6f64656c223a227374616e646172642d7632222c2275707363616c655f666163746f72223a227832227d', NULL, NULL, 1, 1, 'exact', 126000, 126000, 126000, 'kites', 'project kites', NULL, 'settled', 'media_8729c110-4a70-41da-a425-ecfbba88d881', 'completed', NULL, NULL, 'settled', 126000, NULL, 'http://127.0.0.1:39623/files/8__khk_cAY9fW0_LXJoO8J75aQaydgow.jpg', 'image/jpeg', 'image', 1795991780066040, 1795991780138664, 1795991782166780, 1795991782166780, NULL, NULL, 'image upscale upscaled image upscale
image-upscale
sandbox/image-upscale/image-upscale
media_8729c110-4a70-41da-a425-ecfbba88d881
kites');
INSERT INTO public.mediakit_entries VALUES (8, '037730b851142f2be34bf00de70665715b66bc5ef5b7c3cd86553c7524a44524', '64c9ed851f7663b6e997acb0bc2b8fb7539ea79f2c79b2606d694244c1427d34', '445283c3b53fd94a460a036a4e968af3aaba5144d7a6fd803ee3a3ae6827d46d', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f6f7353706658626c387947636a4a4947697a447139545162387a4664636b73512e6a7067222c226d6f64656c223a227374616e646172642d7632222c2275707363616c655f666163746f72223a227832227d', NULL, NULL, 1, 1, 'exact', 126000, 126000, 126000, 'kites', 'project kites', NULL, 'settled', 'media_28ec0e55-2603-4285-bdc2-aa3c4527d619', 'completed', NULL, NULL, 'settled', 126000, NULL, 'http://127.0.0.1:39623/files/t5LHK0Lax1hzIRxqcmLL45w3FyiY-HMY.jpg', 'image/jpeg', 'image', 1795991787088921, 1795991787156350, 1795991787493832, 1795991787493832, NULL, NULL, 'image upscale upscaled  a red kiteimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_28ec0e55-2603-4285-bdc2-aa3c4527d619
kites');
INSERT INTO public.mediakit_entries VALUES (9, '56a0f844fc181275e6fe31f2cb358e52cd0a9fd2d90ac092707a42c5cff1fa6f', '95e25833e945253e265fd6654786fd541193480f25b04dcf5d57dfe049b775cd', '41a9241e814bc9e54c37ca3b72fc8b5a99fcf6a5184bccd52766fa2c87b40a50', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226475736b222c2275707363616c655f666163746f72223a227832227d', 'dusk', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', '5b6ac4cff4357856', 'settled', 'media_f7eda13f-72e0-46a3-9553-c4e738d02cfd', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:39623/files/TjHQZvci3i0EOqUYuGCnXT-QhAGaI85j.jpg', 'image/jpeg', 'image', 1795991823576734, 1795991823721041, 1795991824156550, 1795991824156550, NULL, NULL, 'duskimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_f7eda13f-72e0-46a3-9553-c4e738d02cfd
kites');
INSERT INTO public.mediakit_entries VALUES (10, 'bfadc0a986dcfc86f1b253fee890da2e79de69cbf97c9936811ef8df7466463c', '07b0be0e20826090756eb0bd53bb7581238e5eda81003cad55d612120a955551', '9b8e265c77b6cf7ecd6760d1a248af8ed0e359cc520cea5be41282b38c9e5b8a', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226461776e222c2275707363616c655f666163746f72223a227832227d', 'dawn', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', '5b6ac4cff4357856', 'settled', 'media_5c37ad7e-4893-483c-9972-e8a4082cc123', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:39623/files/__tPd6DxxXRQ16neOFfflW_lALPNC74W.jpg', 'image/jpeg', 'image', 1795991823891395, 1795991824046533, 1795991824489248, 1795991824489248, NULL, NULL, 'dawnimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_5c37ad7e-4893-483c-9972-e8a4082cc123
kites');
INSERT INTO public.mediakit_entries VALUES (11, '10b0e83c6e58b22c1ce8314266326780d35992dcf07013bf1bf374d9a98e4647', '21f86fda760dc8a340385638dea8fe67e401cf8e4a9c318bc5e39c71dc10cf19', '09c9608bfb9ab389dd40784f8194f9ac153f4a193bdbb7d31fb78602417abcd0', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226e6f20616e737765722c206e6f206a6f62222c2275707363616c655f666163746f72223a227832227d', 'no answer, no job', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'unanswered', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795991829342049, NULL, NULL, NULL, NULL, NULL, 'no answer, no jobimage upscale
image-upscale
sandbox/image-upscale/image-upscale
kites');
INSERT INTO public.mediakit_entries VALUES (12, 'c4251accf58379489997a0f7e4a54ffc49d3f9ac58871eaf6a205ab5ad0f57f2', '914b87c1a8b8f94c1a09cf32c7849a581a42321b76c4fb6e49620fb5e0af74e1', '9fe294e0258f90c5acf833e981ecc328367b6c0a40e7fd8846da0fe0ba3c6ae8', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226e6f20616e737765722c206275742061206a6f62222c2275707363616c655f666163746f72223a227832227d', 'no answer, but a job', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'unanswered', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795991891937653, NULL, NULL, NULL, NULL, NULL, 'no answer, but a jobimage upscale
image-upscale
sandbox/image-upscale/image-upscale
kites');
INSERT INTO public.mediakit_entries VALUES (13, 'c93d58b54f632b5d93ebded493e6777c95102e8819362631178c1f264e4a92bf', '984437e901057e99356c198724cda1c9c5a56d2541e8da127fe485647f13a8ec', 'f8999a6ae45444d8d0f4ac5b499f0e2062afafc60aa2aa9520c3b22d1c2cecfb', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a227265667573656420776974686f75742061206a6f62222c2275707363616c655f666163746f72223a227832227d', 'refused without a job', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'refused', NULL, NULL, '422', 'This was refused.', NULL, NULL, NULL, NULL, NULL, NULL, 1795991953348536, NULL, NULL, NULL, NULL, NULL, 'refused without a jobimage upscale
image-upscale
sandbox/image-upscale/image-upscale
kites
422
this was refused.');
INSERT INTO public.mediakit_entries VALUES (14, 'fda1b8ee8707f13530fff2bbaacdac79662b9ab53ea9ed417621fcd0ed87657b', '5b29654fa391f14fb1a835c6724f7babbc31dd5ee8290d555adc47674ba35310', 'e5ad35a061efdcad7150807df46d16997814811fbe3878ba9ae9b7f37cdf5b11', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a2272656a6563746564222c2275707363616c655f666163746f72223a227832227d', 'rejected', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'terminal', 'media_984a8e3e-cc8e-4b5f-9862-58f8d40f4c3e', 'failed', 'admission_suspended', 'The organization is suspended: it can read but not submit. Nothing was charged.', NULL, NULL, NULL, NULL, NULL, NULL, 1795991954494558, 1795991954652753, 1795991954652753, NULL, NULL, NULL, 'rejectedimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_984a8e3e-cc8e-4b5f-9862-58f8d40f4c3e
kites
admission_suspended
the organization is suspended: it can read but not submit. nothing was charged.');
INSERT INTO public.mediakit_entries VALUES (15, 'e43f7f4f86b1b22170a3d9fea238b7d786b9221ae6cbe100905db9971cdf7fb4', '5bb836a739ecffa64845b8a9289bc88eeaf0cc05a825ca19850ac43f2b206b3f', '7e7043dc926bf3dd3edf8069803739aac7820cfa0fb35fe2b47bd3a5778c1482', 'http://127.0.0.1:39623', 'f9eb49d7785644c5', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f53436f656b33756a4862387a724d68745a61745076676b486c6d4a4d77476d5f2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a22627920416e61222c2275707363616c655f666163746f72223a227832227d', 'by Ana', NULL, 1, 1, 'exact', 756000, 756000, 756000, NULL, NULL, NULL, 'settled', 'media_60cdc946-4f12-4ae8-9bdc-33cd502a9cfd', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:39623/files/CO6gaqFk-p3unxAw7bR8JspQQfbgZRhd.jpg', 'image/jpeg', 'image', 1795991968771858, 1795991969405031, 1795991970244568, 1795991970244568, NULL, NULL, 'by anaimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_60cdc946-4f12-4ae8-9bdc-33cd502a9cfd');
INSERT INTO public.mediakit_entries VALUES (16, '6c70c3a6e3561f02517448443cea7532716a8e4fa57eda54a33c12dd67b25baf', 'e29e2f8ed85954c87c86dc0dc46a158a7b8d7dc6381defde7d0738ca457c6b3c', 'bb09061409397f2918fb48934c24e71091dedc3f8ae78afe13e4b915adf8fba8', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a33393632332f66696c65732f75414359574253654d5f6453394e32626b3268394664413259374f625666475a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a227374696c6c20696e20746865207175657565222c2275707363616c655f666163746f72223a227832222c22776562686f6f6b5f75726c223a22687474703a2f2f3132372e302e302e313a392f686f6f6b73227d', 'still in the queue', 'http://127.0.0.1:9/hooks', 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'submitted', 'media_337d1126-2692-41a7-b774-c1d1a6157266', 'queued', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795991973816788, 1795991974096371, NULL, NULL, NULL, NULL, 'still in the queueimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_337d1126-2692-41a7-b774-c1d1a6157266
kites');
INSERT INTO public.mediakit_hashes VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_5c37ad7e-4893-483c-9972-e8a4082cc123', 'a87f090983e899814a554fd85d8ec0384029bd37cf8ea5a84ee02ad17aebc4e3');
INSERT INTO public.mediakit_hashes VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_f7eda13f-72e0-46a3-9553-c4e738d02cfd', 'e746e8321ea29ab5b449636fb8886426939a8e66c781db3977044f3254d0e335');
INSERT INTO public.mediakit_job_scores VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_5c37ad7e-4893-483c-9972-e8a4082cc123', 'tests.support.old_data.sharpness', '2-b9907428532f82bd', 'a87f090983e899814a554fd85d8ec0384029bd37cf8ea5a84ee02ad17aebc4e3', NULL, 1795991827238900);
INSERT INTO public.mediakit_job_scores VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_f7eda13f-72e0-46a3-9553-c4e738d02cfd', 'tests.support.old_data.sharpness', '2-b9907428532f82bd', 'e746e8321ea29ab5b449636fb8886426939a8e66c781db3977044f3254d0e335', NULL, 1795991827337677);
INSERT INTO public.mediakit_job_scores VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_5c37ad7e-4893-483c-9972-e8a4082cc123', 'tests.support.old_data.follows', '1-cc3f76b82c377bd8', '315cbf4a59a7ba076882590f37535f420c1e825396783592cf48f864dec37151', 250, 1795991828120624);
INSERT INTO public.mediakit_job_scores VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_f7eda13f-72e0-46a3-9553-c4e738d02cfd', 'tests.support.old_data.follows', '1-cc3f76b82c377bd8', 'becf5ce7907545d8c7197bfafa061efe0cad8c462f690464f98e27c7d2589625', 250, 1795991828121896);
INSERT INTO public.mediakit_judgements VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_5c37ad7e-4893-483c-9972-e8a4082cc123', 4, false, '[]', '', '', 1795991828536680);
INSERT INTO public.mediakit_judgements VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_8c9c269a-06bc-4f83-871b-50254774cd30', 5, true, '["final", "red"]', 'the best of all; Größe £5', 'ana', 1795991954943335);
INSERT INTO public.mediakit_judgements VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_09e5c2e0-ff9a-496c-8b34-7538d0972398', 2, false, '[]', '', '', 1795991955448922);
INSERT INTO public.mediakit_origins VALUES ('["form"]', '5bcdc342bc10ac4a44a20f00acf1e36613bb4ac8a87e1898e64bf72e9585c3cf');
INSERT INTO public.mediakit_parents VALUES ('64c9ed851f7663b6e997acb0bc2b8fb7539ea79f2c79b2606d694244c1427d34', 'image_url', 'media_8c9c269a-06bc-4f83-871b-50254774cd30');
INSERT INTO public.mediakit_preferences VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '84acf1e34f87c16b', 'media_5c37ad7e-4893-483c-9972-e8a4082cc123', 'media_f7eda13f-72e0-46a3-9553-c4e738d02cfd', false, 'ana', 1795991954941176);
INSERT INTO public.mediakit_scores VALUES ('a87f090983e899814a554fd85d8ec0384029bd37cf8ea5a84ee02ad17aebc4e3', 'tests.support.old_data.sharpness', '2-b9907428532f82bd', '{"score": 504.5, "reason": "its bytes"}', 1795991827238900);
INSERT INTO public.mediakit_scores VALUES ('e746e8321ea29ab5b449636fb8886426939a8e66c781db3977044f3254d0e335', 'tests.support.old_data.sharpness', '2-b9907428532f82bd', '{"score": 503.5, "reason": "its bytes"}', 1795991827337677);
INSERT INTO public.mediakit_scores VALUES ('315cbf4a59a7ba076882590f37535f420c1e825396783592cf48f864dec37151', 'tests.support.old_data.follows', '1-cc3f76b82c377bd8', '{"stars": 4.0, "reason": "4 letters"}', 1795991828120624);
INSERT INTO public.mediakit_scores VALUES ('becf5ce7907545d8c7197bfafa061efe0cad8c462f690464f98e27c7d2589625', 'tests.support.old_data.follows', '1-cc3f76b82c377bd8', '{"stars": 4.0, "reason": "4 letters"}', 1795991828121896);
INSERT INTO public.mediakit_sweep_cells VALUES ('5b6ac4cff4357856', 0, '9b8e265c77b6cf7ecd6760d1a248af8ed0e359cc520cea5be41282b38c9e5b8a', 1, '{"prompt": "dawn", "take": 1}');
INSERT INTO public.mediakit_sweep_cells VALUES ('5b6ac4cff4357856', 1, '41a9241e814bc9e54c37ca3b72fc8b5a99fcf6a5184bccd52766fa2c87b40a50', 1, '{"prompt": "dusk", "take": 1}');
INSERT INTO public.mediakit_sweeps VALUES ('5b6ac4cff4357856', 'sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', 'sandbox/image-upscale/image-upscale', '["prompt"]', NULL, 'plan = client.sweep(
    ''image-upscale'',
    prompt=[''dawn'', ''dusk''],
    image_url=''/tmp/tmpt1ww29gl/small.png'',
    model=''standard-max'',
)', 1795991822983279);
INSERT INTO public.mediakit_totals VALUES ('account sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6 84acf1e34f87c16b', 4992000, 2268000, NULL);
INSERT INTO public.mediakit_totals VALUES ('budget project kites', 4992000, 2268000, 25000000);
INSERT INTO public.mediakit_totals VALUES ('sweep 5b6ac4cff4357856', 1512000, 0, 5000000);
INSERT INTO public.mediakit_totals VALUES ('account http://127.0.0.1:39623 f9eb49d7785644c5', 756000, 0, NULL);
INSERT INTO public.mediakit_uploads VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', 'baa633be20d224c899a93e0cc1e0cfb02297dbfbd098e18a581417816a3b3b1d', 'image/png', 154, 'http://127.0.0.1:39623/files/uACYWBSeM_dS9N2bk2h9FdA2Y7ObVfGZ.png', 1795991777786488);
INSERT INTO public.mediakit_uploads VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', 'db8177bb5b787e2828d6a9bba7f44926886a3385e01295a68163556b4596f93f', 'image/png', 158, 'http://127.0.0.1:39623/files/VHujFIXQWmLCCpuyxW7FfRBNLpQTJdOc.png', 1795991780032115);
INSERT INTO public.mediakit_uploads VALUES ('sandbox:da6e48d2-b649-43a8-85a3-cfd1f3bde9a6', '6a2ce6bbcd77e1c98dd0d67f078159b88f9fc33b13a187d7e61727cab950ec1c', 'image/png', 123, 'http://127.0.0.1:39623/files/RQmPuen-P9b_aw5E21-0AdRRLcnZFW-k.png', 1795991829009144);
INSERT INTO public.mediakit_uploads VALUES ('http://127.0.0.1:39623', 'baa633be20d224c899a93e0cc1e0cfb02297dbfbd098e18a581417816a3b3b1d', 'image/png', 154, 'http://127.0.0.1:39623/files/SCoek3ujHb8zrMhtZatPvgkHlmJMwGm_.png', 1795991968009211);
INSERT INTO public.mediakit_version VALUES (12);
SELECT pg_catalog.setval('public.mediakit_entries_number_seq', 16, true);
ALTER TABLE ONLY public.mediakit_drafts
    ADD CONSTRAINT mediakit_drafts_pkey PRIMARY KEY (origin);
ALTER TABLE ONLY public.mediakit_entries
    ADD CONSTRAINT mediakit_entries_key_key UNIQUE (key);
ALTER TABLE ONLY public.mediakit_entries
    ADD CONSTRAINT mediakit_entries_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.mediakit_hashes
    ADD CONSTRAINT mediakit_hashes_pkey PRIMARY KEY (service, account, job_id);
ALTER TABLE ONLY public.mediakit_job_scores
    ADD CONSTRAINT mediakit_job_scores_pkey PRIMARY KEY (service, account, job_id, scorer, version, seen);
ALTER TABLE ONLY public.mediakit_judgements
    ADD CONSTRAINT mediakit_judgements_pkey PRIMARY KEY (service, account, job_id);
ALTER TABLE ONLY public.mediakit_origins
    ADD CONSTRAINT mediakit_origins_pkey PRIMARY KEY (origin, key);
ALTER TABLE ONLY public.mediakit_parents
    ADD CONSTRAINT mediakit_parents_pkey PRIMARY KEY (draw_key, field);
ALTER TABLE ONLY public.mediakit_scores
    ADD CONSTRAINT mediakit_scores_pkey PRIMARY KEY (seen, scorer, version);
ALTER TABLE ONLY public.mediakit_sweep_cells
    ADD CONSTRAINT mediakit_sweep_cells_pkey PRIMARY KEY (sweep, number);
ALTER TABLE ONLY public.mediakit_sweeps
    ADD CONSTRAINT mediakit_sweeps_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mediakit_totals
    ADD CONSTRAINT mediakit_totals_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.mediakit_uploads
    ADD CONSTRAINT mediakit_uploads_pkey PRIMARY KEY (service, sha256, content_type);
CREATE UNIQUE INDEX ix_mediakit_asked ON public.mediakit_entries USING btree (asked_key, take, attempt);
CREATE INDEX ix_mediakit_charges ON public.mediakit_entries USING btree (service, settled_at, account, charge_micro_usd);
CREATE INDEX ix_mediakit_draw ON public.mediakit_entries USING btree (draw_key, take);
CREATE INDEX ix_mediakit_function ON public.mediakit_entries USING btree (service, function);
CREATE UNIQUE INDEX ix_mediakit_job ON public.mediakit_entries USING btree (job_id) WHERE (job_id IS NOT NULL);
CREATE INDEX ix_mediakit_kind ON public.mediakit_entries USING btree (kind, number);
CREATE INDEX ix_mediakit_origins ON public.mediakit_origins USING btree (key);
CREATE INDEX ix_mediakit_parents ON public.mediakit_parents USING btree (job_id);
CREATE INDEX ix_mediakit_preferences ON public.mediakit_preferences USING btree (service, account, at);
CREATE INDEX ix_mediakit_sweep ON public.mediakit_entries USING btree (sweep) WHERE (sweep IS NOT NULL);
